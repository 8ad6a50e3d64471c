// Extras only: every page works without this file. It keeps an open page
// fresh, shows the fields of the chosen exit alone, keeps relative times true
// and sends a form once. It confirms nothing and decides nothing.
"use strict";
(() => {
  const body = document.body;
  const all = (root, selector) => Array.from(root.querySelectorAll(selector));

  // ---- Relative times, in the same words as the server's ----------------

  // The reader's clock may be wrong; the server said what time it was.
  const skew = body.dataset.now ? Date.parse(body.dataset.now) - Date.now() : 0;

  const span = (ms) => {
    const minutes = Math.floor(ms / 60000);
    if (minutes < 1) return "";
    if (minutes < 60) return minutes + " min";
    const hours = Math.floor(minutes / 60);
    if (hours < 48) return hours + " h";
    return Math.floor(hours / 24) + " days";
  };

  const inWords = {
    ago(ahead) {
      const words = span(Math.abs(ahead));
      if (ahead > 0) return words ? "in " + words : "now";
      return words ? words + " ago" : "just now";
    },
    age(ahead) {
      return span(-ahead) || "new";
    },
    due(ahead) {
      const words = span(Math.abs(ahead));
      if (!words) return "due now";
      return ahead > 0 ? "due in " + words : "overdue by " + words;
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
    for (const field of all(copy, 'input[name="csrf_token"]')) field.setAttribute("value", "");
    for (const t of all(copy, "time[data-relative]")) {
      t.textContent = "";
      t.classList.remove("moment--late");
    }
    for (const fold of all(copy, "details")) fold.removeAttribute("open");
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

  const inUse = (region) => {
    if (region.contains(document.activeElement)) return true;
    if (region.querySelector("[data-kept]")) return true;
    const selection = document.getSelection();
    if (selection && !selection.isCollapsed && selection.containsNode(region, true)) return true;
    return all(region, "input, textarea, select").some(changed);
  };

  const offerReload = () => {
    const bar = document.querySelector("[data-live-bar]");
    if (bar) bar.hidden = false;
  };

  const put = (region, fresh) => {
    const open = all(region, "details").map((d) => d.open);
    const next = document.importNode(fresh, true);
    const folds = all(next, "details");
    if (folds.length === open.length) folds.forEach((d, i) => { d.open = d.open || open[i]; });
    const along = region.scrollLeft;
    region.replaceWith(next);
    next.scrollLeft = along;
    enhance(next);
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
      if (inUse(region)) {
        if (name !== "nav") untouched = false; // counts alone are no news
        continue;
      }
      put(region, next);
      seen.set(name, now);
    }
    document.title = page.title;
    refreshTimes();
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
      const answer = await fetch(body.dataset.livePage || location.href, { credentials: "same-origin" });
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

  const summary = document.querySelector("[data-testid=error-summary]");
  if (summary) summary.focus();

  if (body.dataset.live) {
    open();
    document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
    window.addEventListener("pagehide", close);
    window.addEventListener("pageshow", (event) => { if (event.persisted) open(); });
  }
})();
