// Extras only: every page works without this file. It keeps an open page
// fresh, shows the fields of the chosen exit alone, keeps relative times true,
// sends a form once, lets keys do what the sheet of shortcuts says, keeps what
// is typed, and tells others who is here. It decides nothing by itself.
"use strict";
(() => {
  const body = document.body;
  const all = (root, selector) => Array.from(root.querySelectorAll(selector));
  const one = (selector) => document.querySelector(selector);
  const csrf = () => one('input[name="csrf_token"]').value;
  const post = (path, fields) =>
    fetch(path, { method: "POST", credentials: "same-origin", body: new URLSearchParams({ csrf_token: csrf(), ...fields }) });

  // Whether keys write into it.
  const typing = (el) =>
    el.tagName === "TEXTAREA" || el.tagName === "SELECT" || el.isContentEditable ||
    (el.tagName === "INPUT" && !/^(radio|checkbox|button|submit|reset|file|image)$/.test(el.type));

  // ---- Relative times, in the same words as the server's ----------------

  // The reader's clock may be wrong; the server said what time it was.
  const skew = body.dataset.now ? Date.parse(body.dataset.now) - Date.now() : 0;

  // What the script says, in the reader's language: times by the rules of the server, and what is ready.
  const messages = Object.assign(
    {
      ready: "Ctrl Enter: %s",
      min: "%d min", h: "%d h", days: "%d days", daysOld: "%d days", now: "now", in: "in %s", just: "just now", ago: "%s ago",
      new: "new", due: "due now", over: "overdue by %s", left: "due in %s",
    },
    JSON.parse(body.dataset.words || "{}"),
  );
  const filled = (key, value) => messages[key].replace(/%[ds]/, () => value);

  const span = (ms, days = "days") => {
    const minutes = Math.floor(ms / 60000);
    if (minutes < 1) return "";
    if (minutes < 60) return filled("min", minutes);
    const hours = Math.floor(minutes / 60);
    if (hours < 48) return filled("h", hours);
    return filled(days, Math.floor(hours / 24));
  };

  const inWords = {
    ago(ahead) {
      const time = span(Math.abs(ahead));
      if (ahead > 0) return time ? filled("in", time) : messages.now;
      return time ? filled("ago", time) : messages.just;
    },
    age(ahead) {
      return span(-ahead, "daysOld") || messages.new;
    },
    due(ahead) {
      const time = span(Math.abs(ahead));
      if (!time) return messages.due;
      return filled(ahead > 0 ? "left" : "over", time);
    },
  };

  const refreshTimes = () => {
    const now = Date.now() + skew;
    for (const t of all(document, "time[data-relative]")) {
      const ahead = Date.parse(t.dateTime) - now;
      const words = inWords[t.dataset.relative];
      if (Number.isNaN(ahead) || !words) continue;
      const text = words(ahead);
      if (t.textContent !== text) t.textContent = text;
      if (t.dataset.relative === "due") t.classList.toggle("moment--late", ahead <= 0);
    }
  };

  // ---- Exits: only the chosen one's fields are shown and sent ------------

  const showChosenExit = (form) => {
    const chosen = form.querySelector('input[name="exit"]:checked');
    for (const set of all(form, "[data-exit-fields]")) {
      const on = chosen !== null && chosen.value === set.dataset.exitFields;
      set.hidden = !on;
      set.disabled = !on;
      for (const control of all(set, "[data-required]")) control.required = on;
    }
    for (const reason of all(form, 'textarea[name="reason"][data-required]')) {
      reason.required = chosen !== null && !chosen.hasAttribute("data-no-reason");
    }
  };

  const enhance = (root) => {
    for (const form of all(root, "form[data-exits]")) showChosenExit(form);
  };

  document.addEventListener("change", (event) => {
    const form = event.target.closest("form[data-exits]");
    if (form && event.target.name === "exit") showChosenExit(form);
  });

  // ---- A form is sent once -----------------------------------------------

  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (event.defaultPrevented || form.method !== "post") return;
    if (form.dataset.sent) {
      event.preventDefault();
      return;
    }
    form.dataset.sent = "yes";
    // The buttons stay enabled: a disabled one would not send its value.
    for (const button of all(form, "button")) button.setAttribute("aria-disabled", "true");
  });

  window.addEventListener("pageshow", () => {
    for (const form of all(document, "form[data-sent]")) {
      delete form.dataset.sent;
      for (const button of all(form, "button")) button.removeAttribute("aria-disabled");
    }
    enhance(document);
    refreshTimes();
  });

  // ---- Live refresh --------------------------------------------------------

  const regions = (root) => all(root, "[data-live-region]");

  // What a region says, without what differs on every rendering.
  const signature = (region) => {
    const copy = region.cloneNode(true);
    for (const field of all(copy, 'input[name="csrf_token"], input[name="based"]')) field.setAttribute("value", "");
    for (const t of all(copy, "time[data-relative]")) {
      t.textContent = "";
      t.classList.remove("moment--late");
    }
    for (const fold of all(copy, "details")) fold.removeAttribute("open");
    // What a person has typed is theirs, wherever it is kept.
    for (const offer of all(copy, ".draft")) offer.remove();
    for (const field of all(copy, "input, textarea, option")) {
      for (const name of ["checked", "selected"]) field.removeAttribute(name);
      if (field.tagName === "TEXTAREA") field.textContent = "";
      else if (typing(field) && field.type !== "hidden") field.removeAttribute("value");
    }
    for (const row of all(copy, '[aria-current="true"]')) row.removeAttribute("aria-current");
    return copy.innerHTML;
  };

  const seen = new Map();

  const changed = (control) => {
    if (control.type === "hidden" || control.type === "submit") return false;
    if (control.type === "radio" || control.type === "checkbox") return control.checked !== control.defaultChecked;
    if (control.tagName === "SELECT") {
      return Array.from(control.options).some((o) => o.selected !== o.defaultSelected) && control.selectedIndex > 0;
    }
    return control.value !== control.defaultValue;
  };

  // The same control in another rendering of its region.
  const counterpart = (region, next, el) => {
    const mark = (e) =>
      [e.id, e.dataset.testid, ...["href", "name", "value"].map((a) => e.getAttribute(a)), e.form && e.form.getAttribute("action")].join("\n");
    const like = (root) => all(root, el.tagName).filter((e) => mark(e) === mark(el));
    return like(next)[like(region).indexOf(el)];
  };

  const inUse = (region, next) => {
    const at = document.activeElement;
    if (region.contains(at) && (typing(at) || !counterpart(region, next, at))) return true;
    if (region.querySelector("[data-kept]")) return true;
    const selection = document.getSelection();
    if (selection && !selection.isCollapsed && selection.containsNode(region, true)) return true;
    return all(region, "input, textarea, select").some(changed);
  };

  const offerReload = () => {
    const bar = document.querySelector("[data-live-bar]");
    if (bar) bar.hidden = false;
    dodge();
  };

  // What stands over the page changes its end of the window when it would cover what has the focus.
  const covers = (box, at) => Math.max(0, Math.min(box.bottom, at.bottom) - Math.max(box.top, at.top)) * Math.max(0, Math.min(box.right, at.right) - Math.max(box.left, at.left));
  const dodge = () => {
    const bars = one("[data-bars]");
    const at = document.activeElement;
    if (!bars || at === body || at.id === "main" || bars.contains(at)) return;
    const covered = () => covers(bars.getBoundingClientRect(), at.getBoundingClientRect());
    const before = covered();
    if (!before) return;
    bars.toggleAttribute("data-above");
    if (covered() > before) bars.toggleAttribute("data-above");
  };
  for (const kind of ["focusin", "input", "click"]) document.addEventListener(kind, dodge);
  for (const kind of ["scroll", "resize"]) window.addEventListener(kind, dodge, { passive: true, capture: true });

  // Refreshing keeps the ticks, and the focus where it was: in its row, even when that is gone, or in its field.
  let lastFocus = null;
  document.addEventListener("focusin", (event) => {
    if (!event.target.closest("[data-bars]")) lastFocus = event.target;
  });

  const ticks = () => all(document, 'main input[type="checkbox"]');
  const refreshPage = async (link) => {
    const kept = { ticks: ticks().filter((t) => t.checked !== t.defaultChecked).map((t) => [t.name, t.value, t.checked]) };
    if (lastFocus && lastFocus.isConnected) {
      kept.row = rowLinks().indexOf(lastFocus);
      kept.focus = [lastFocus.id, lastFocus.getAttribute("name"), lastFocus.getAttribute("value")];
    }
    sessionStorage.setItem("kept " + link.pathname, JSON.stringify(kept));
    await saveTyped();
    location.assign(link.href);
  };

  const restore = () => {
    const keptHere = "kept " + location.pathname;
    const kept = JSON.parse(sessionStorage.getItem(keptHere) || "null");
    sessionStorage.removeItem(keptHere);
    if (!kept) return;
    for (const tick of ticks()) {
      const was = kept.ticks.find(([name, value]) => tick.name === name && tick.value === value);
      if (was) tick.checked = was[2];
    }
    const [id, name, value] = kept.focus || [];
    const rows = rowLinks();
    const at =
      (kept.row >= 0 && (currentRow() || rows[Math.min(kept.row, rows.length - 1)])) || (id && document.getElementById(id)) ||
      (name && all(document, "main [name]").find((e) => e.getAttribute("name") === name && e.getAttribute("value") === value)) || one("main h1");
    if (!at) return;
    if (at.tagName === "H1") at.tabIndex = -1;
    at.focus();
  };

  document.addEventListener("click", (event) => {
    const link = event.target.closest("[data-live-bar] a");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    refreshPage(link);
  });

  const put = (region, fresh) => {
    const open = all(region, "details").map((d) => d.open);
    const next = document.importNode(fresh, true);
    const folds = all(next, "details");
    if (folds.length === open.length) folds.forEach((d, i) => { d.open = d.open || open[i]; });
    const along = region.scrollLeft;
    const focused = region.contains(document.activeElement) ? counterpart(region, next, document.activeElement) : null;
    region.replaceWith(next);
    next.scrollLeft = along;
    enhance(next);
    if (focused) focused.focus({ preventScroll: true });
    markRow();
  };

  const merge = (page) => {
    const fresh = new Map(regions(page).map((r) => [r.dataset.liveRegion, r]));
    let untouched = true;
    for (const region of regions(document)) {
      const name = region.dataset.liveRegion;
      const next = fresh.get(name);
      if (!next) {
        untouched = false;
        continue;
      }
      const now = signature(next);
      if (now === seen.get(name)) continue;
      if (inUse(region, next)) {
        if (name !== "nav") untouched = false; // counts alone are no news
        continue;
      }
      put(region, next);
      seen.set(name, now);
    }
    document.title = page.title;
    for (const name of ["now", "claimEnd"]) {
      const value = page.body.dataset[name];
      if (value) body.dataset[name] = value;
      else if (name === "claimEnd" && claimLeft() > 0) delete body.dataset.claimEnd; // given back, or decided
    }
    refreshTimes();
    showClaim();
    if (!untouched) offerReload();
  };

  let running = false;
  let again = false;

  const refresh = async () => {
    if (running) {
      again = true;
      return;
    }
    running = true;
    try {
      const answer = await fetch(body.dataset.livePage || location.href, { credentials: "same-origin", headers: { "Live-Refresh": "yes" } });
      if (answer.redirected) offerReload(); // signed out meanwhile
      else if (answer.ok) merge(new DOMParser().parseFromString(await answer.text(), "text/html"));
    } catch {
      // Not reachable just now: the stream opens again and asks again.
    } finally {
      running = false;
      if (again) {
        again = false;
        refresh();
      }
    }
  };

  let source = null;
  let retry = 0;
  let pending = 0;

  const soon = () => {
    clearTimeout(pending);
    pending = setTimeout(refresh, 120);
  };

  const close = () => {
    clearTimeout(retry);
    if (source) source.close();
    source = null;
  };

  const open = () => {
    if (source || document.hidden) return;
    source = new EventSource(body.dataset.live);
    // What happened before the stream stood is not told on it.
    source.addEventListener("open", soon);
    source.addEventListener("message", soon);
    source.addEventListener("error", () => {
      if (source && source.readyState === EventSource.CLOSED) {
        close();
        retry = setTimeout(open, 15000);
      }
    });
  };

  // ---- Keys: the sheet on the page says which do what ------------------------

  const sheet = document.getElementById("keys");
  const byKeys = new Map();
  if (sheet) {
    for (const row of all(sheet, "[data-keys]")) {
      for (const way of row.dataset.keys.split(" ")) byKeys.set(way, row.dataset);
    }
  }

  const visible = (selector) => all(document, selector).find((e) => e.getClientRects().length > 0);
  // What opens a row: of a table, of what a search found, of the notices.
  const rowAt = "main tbody a.cases__link, main a.hit__link, main .notices__act a, main .notices__act button";
  const rowLinks = () => all(document, rowAt);
  const currentRow = () => rowLinks().find((link) => link.getAttribute("aria-current") === "true");
  const rememberedRow = "row " + location.pathname;
  const rowKey = (link) => {
    const notice = link.closest("[data-notice]");
    return notice ? notice.dataset.notice : link.getAttribute("href");
  };

  // The current row is the one that last had the focus, also after coming back to the list.
  const markRow = () => {
    const key = sessionStorage.getItem(rememberedRow);
    for (const link of rowLinks()) {
      if (key && rowKey(link) === key) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
  };

  document.addEventListener("focusin", (event) => {
    if (!event.target.matches(rowAt)) return;
    sessionStorage.setItem(rememberedRow, rowKey(event.target));
    markRow();
  });

  const say = (words) => {
    const place = one("[data-say]");
    if (place) place.textContent = words;
    dodge();
  };

  const claimRow = async (id) => {
    const answer = await post("/cases/" + encodeURIComponent(id) + "/claim", {});
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const words = page.querySelector("[data-testid=flash] p, [data-testid=conflict] .notice__heading, h1");
    say(words ? words.textContent : "");
    refresh();
  };

  const reach = (el) => {
    for (let fold = el.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
    el.focus();
  };

  const buttonsOf = (form) => Array.from(form.elements).filter((b) => b.tagName === "BUTTON" && b.type === "submit");
  const tell = (form, words) => {
    const place = form.querySelector("[data-armed-words]");
    if (place) place.textContent = words;
  };

  // Each answers false when there is nothing to do, and then the key is the browser's.
  const acts = {
    help: () => sheet.showModal(),
    row(by) {
      const links = rowLinks();
      if (!links.length) return false;
      const at = links.indexOf(currentRow());
      const to = at < 0 ? 0 : Math.min(links.length - 1, Math.max(0, at + Number(by)));
      links[to].focus();
    },
    open() {
      if (!currentRow()) return false;
      currentRow().click();
    },
    inrow(selector) {
      const row = currentRow() && currentRow().closest("tr");
      const control = row && row.querySelector(selector);
      if (!control) return false;
      control.click();
    },
    claim() {
      const row = currentRow() && currentRow().closest("[data-case]");
      if (!row) return false;
      claimRow(row.dataset.case).catch(() => offerReload());
    },
    click(selector) {
      const control = visible(selector);
      if (!control) return false;
      control.click();
    },
    focus(selector) {
      const control = visible(selector) || one(selector);
      if (!control) return false;
      reach(control);
    },
    pick(_, key) {
      const choice = all(document, 'form[data-exits] input[name="exit"]')[Number(key) - 1];
      if (!choice) return false;
      choice.click();
      reach(choice.closest(".exit").querySelector("[data-exit-fields] :is(input, textarea, select)") || choice);
    },
    arm(selector) {
      const button = visible(selector);
      if (!button) return false;
      for (const b of buttonsOf(button.form)) b.toggleAttribute("data-armed", b === button);
      tell(button.form, filled("ready", button.textContent.trim()));
      reach(button.form.elements.reason);
    },
    send(selector) {
      const form = document.activeElement.closest("main form[method=post]") || one(selector);
      if (!form) return false;
      const buttons = buttonsOf(form);
      const armed = buttons.find((b) => b.hasAttribute("data-armed"));
      if (!armed && buttons.filter((b) => b.name).length > 1) {
        tell(form, all(sheet, '[data-act="arm"]').map((k) => k.textContent.trim()).join(" · "));
        return;
      }
      form.requestSubmit(armed || buttons[0]);
    },
    leave() {
      const at = document.activeElement;
      const place = typing(at) && at.closest("main") && (at.form || at.closest("main"));
      if (!place) return false;
      place.tabIndex = -1;
      place.focus({ preventScroll: true });
    },
    onward: () => false, // only from a field, above
    go: (address) => location.assign(address),
  };

  let first = "";
  let forget = 0;

  document.addEventListener("keydown", (event) => {
    if (!sheet || sheet.open || event.defaultPrevented || event.isComposing || event.altKey) return;
    const at = document.activeElement;
    const sends = event.ctrlKey || event.metaKey;
    if (sends && event.key !== "Enter") return;
    const key = sends ? "Ctrl+Enter" : event.key;
    if (key === "Enter" && at.matches(".decide input") && byKeys.has("Enter")) {
      // Else the browser would press the form's first button.
      event.preventDefault();
      reach(at.form.elements.reason);
      return;
    }
    if (typing(at) && !sends && key !== "Escape") return;
    if (key === "Shift") return;
    const way = first ? first + "," + key : key;
    clearTimeout(forget);
    first = "";
    if (way === key && Array.from(byKeys.keys()).some((k) => k.startsWith(key + ","))) {
      first = key;
      forget = setTimeout(() => { first = ""; }, 1500);
      return;
    }
    const does = byKeys.get(way);
    if (!does || (event.repeat && does.act !== "row")) return;
    if (/^(Enter|Arrow)/.test(key) && at !== body && (key === "Enter" || !at.matches(rowAt))) return;
    if (acts[does.act](does.to, key) !== false) event.preventDefault();
  });

  // ---- What is typed is kept until it is sent ---------------------------------

  let saving = 0;
  const thisWindow = Math.random().toString(36).slice(2, 10);

  // Saved or sent, a form says in which window it was filled in.
  document.addEventListener("formdata", (event) => {
    if (event.target.elements.draft) event.formData.set("window", thisWindow);
  });

  // What another window typed into the same form meanwhile is shown, and nothing is written over.
  const saved = async (form, answer) => {
    if (!form.isConnected) return;
    const shown = form.querySelector("[data-other-window]");
    if (answer.status === 409) {
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const other = page.querySelector("[data-other-window]");
      if (!other) return;
      if (shown && shown.textContent === other.textContent) {
        shown.querySelector("[data-keep-mine]").dataset.keepMine = other.querySelector("[data-keep-mine]").dataset.keepMine;
        return;
      }
      if (shown) shown.remove();
      form.elements.draft.after(document.importNode(other, true));
    } else if (answer.ok) {
      form.elements.based.value = (answer.headers.get("ETag") || "").replace(/^(W\/)?"|"$/g, "");
      if (shown) shown.remove();
    }
  };

  document.addEventListener("click", (event) => {
    const mine = event.target.closest("[data-keep-mine]");
    if (!mine) return;
    const form = mine.form;
    form.elements.based.value = mine.dataset.keepMine;
    form.dataset.typed = "yes";
    mine.closest("[data-other-window]").remove();
    const field = all(form, "textarea, input, select").find((e) => typing(e) && e.getClientRects().length > 0);
    if (field) field.focus();
    saveTyped();
  });

  const saveTyped = (leaving) => {
    const saves = [];
    for (const form of all(document, "form[data-typed]")) {
      if (form.dataset.sent) continue;
      const fields = new URLSearchParams(new FormData(form));
      fields.set("made", body.dataset.now || "");
      for (const secret of ["password", "passkey"]) fields.delete(secret);
      delete form.dataset.typed;
      if (leaving) navigator.sendBeacon("/drafts", fields);
      else saves.push(fetch("/drafts", { method: "POST", credentials: "same-origin", body: fields }).then((answer) => saved(form, answer)).catch(() => { form.dataset.typed = "yes"; }));
    }
    return Promise.all(saves);
  };

  document.addEventListener("input", (event) => {
    const form = event.target.form;
    if (!form || !form.elements.draft || !(typing(event.target) || form.dataset.everTyped)) return;
    form.dataset.typed = form.dataset.everTyped = "yes";
    clearTimeout(saving);
    saving = setTimeout(saveTyped, 800);
    if (doing !== "editing") attend();
  });

  // ---- Who is here, and how long a claim lasts ---------------------------------

  const place = one("[data-subject]");
  let used = true;
  let doing = "";

  const claimLeft = () => (body.dataset.claimEnd ? Date.parse(body.dataset.claimEnd) - Date.now() - skew : NaN);

  const showClaim = () => {
    const left = claimLeft();
    const soonOver = one("[data-claim=soon]");
    const lost = one("[data-claim=lost]");
    if (!soonOver || Number.isNaN(left)) {
      if (soonOver) soonOver.hidden = true;
      return;
    }
    soonOver.hidden = left <= 0 || left > 5 * 60000;
    lost.hidden = left > 0;
    dodge();
  };

  const attend = async () => {
    if (!place || document.hidden) return;
    doing = one("form[data-ever-typed]") ? "editing" : "viewing";
    const fields = { subject: place.dataset.subject, doing, used: used ? "yes" : "" };
    used = false;
    try {
      const answer = await post("/presence", fields);
      if (!answer.ok || answer.redirected) return;
      const here = await answer.json();
      if (here.claim_end) body.dataset.claimEnd = here.claim_end;
      else if (claimLeft() > 0) refresh();
      showClaim();
      const shown = one("[data-present]");
      if (shown && shown.dataset.present !== here.present) refresh();
    } catch {
      // Not reachable just now; the next beat tells again.
    }
  };

  if (place) {
    for (const kind of ["keydown", "pointerdown", "input", "scroll"]) {
      window.addEventListener(kind, () => { used = true; }, { passive: true });
    }
    setInterval(attend, 20000);
    setInterval(showClaim, 10000);
    attend();
    showClaim();
    document.addEventListener("visibilitychange", attend);
    window.addEventListener("pageshow", (event) => { if (event.persisted) attend(); });
  }

  window.addEventListener("pagehide", () => {
    saveTyped(true);
    if (place) navigator.sendBeacon("/presence/leave", new URLSearchParams({ csrf_token: csrf(), subject: place.dataset.subject }));
  });

  markRow();

  for (const region of regions(document)) seen.set(region.dataset.liveRegion, signature(region));
  enhance(document);
  refreshTimes();
  setInterval(refreshTimes, 20000);

  // On a narrow screen the way around is a strip: show where the reader is.
  const here = document.querySelector(".nav [aria-current]");
  if (here) {
    const strip = here.closest(".nav");
    strip.scrollLeft += here.getBoundingClientRect().right - strip.getBoundingClientRect().right + 16;
  }

  // Who comes here by an act, a claim or the decision before, stands where the next one is taken, and hears
  // what the act did. The page does not move: it begins with what to read.
  const summary = document.querySelector("[data-testid=error-summary]");
  const flash = one("[data-testid=flash]");
  const arrival = one("[data-arrive]");
  restore();
  if (summary) summary.focus();
  else if (flash && arrival && document.activeElement === body && !location.hash) {
    flash.id = "flash";
    arrival.setAttribute("aria-describedby", "flash");
    arrival.focus({ preventScroll: true });
  }

  if (body.dataset.live) {
    open();
    document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
    window.addEventListener("pagehide", close);
    window.addEventListener("pageshow", (event) => { if (event.persisted) open(); });
  }
})();
