// Sends a file without leaving the page: how far it is, that it arrived, or why
// not. What else is typed on the page stays. Without this file the form is sent
// like any other. Its words stand on the form, which the server wrote.
"use strict";
(() => {
  const part = (form, name) => form.querySelector("[data-upload-" + name + "]");

  const complain = (form, words) => {
    const error = part(form, "error");
    const field = form.querySelector("input[type=file]");
    error.textContent = words && "▲ " + words;
    error.hidden = !words;
    field.removeAttribute("aria-invalid");
    if (words) {
      field.setAttribute("aria-invalid", "true");
      field.focus();
    }
  };

  // What the answer says was wrong: on the field, or as the heading of another page.
  const reason = (answer) => {
    const told = answer && (answer.querySelector("#f-file-error:not([hidden])") || answer.querySelector("main h1"));
    return told ? told.textContent.replace("▲", "").trim() : "";
  };

  const send = (form, field) => {
    const bar = part(form, "progress");
    const status = part(form, "status");
    const file = field.files[0];
    complain(form, "");
    const failed = (words) => {
      status.textContent = form.dataset.failed;
      complain(form, words || form.dataset.failed);
    };
    if (file.size > Number(form.dataset.maxSize)) return failed(form.dataset.tooLarge);
    const request = new XMLHttpRequest();
    const buttons = Array.from(form.querySelectorAll("button"));
    const busy = (on) => {
      form.toggleAttribute("data-busy", on);
      bar.hidden = !on;
      for (const button of buttons) button.setAttribute("aria-disabled", String(on));
    };
    request.open("POST", form.action);
    request.responseType = "document";
    request.upload.addEventListener("progress", (event) => {
      if (event.lengthComputable) bar.value = Math.floor((event.loaded * 100) / event.total);
    });
    request.addEventListener("loadend", () => {
      busy(false);
      const answer = request.response;
      const fresh = answer && answer.querySelector('[data-live-region="files"]');
      if (request.status !== 200 || !fresh) {
        failed(request.status === 200 ? "" : request.status ? reason(answer) : form.dataset.broken);
        return;
      }
      document.querySelector('[data-live-region="files"]').replaceWith(document.importNode(fresh, true));
      form.reset();
      status.textContent = form.dataset.added.replace("%s", file.name);
    });
    bar.value = 0;
    busy(true);
    status.textContent = form.dataset.sending.replace("%s", file.name);
    request.send(new FormData(form));
  };

  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (!form.matches("form[data-upload]")) return;
    const field = form.querySelector("input[type=file]");
    if (form.hasAttribute("data-busy") || field.files.length) event.preventDefault();
    if (!form.hasAttribute("data-busy") && field.files.length) send(form, field);
  }, true);
})();
