// Asks the browser for a passkey when a form is sent that needs one: the desk
// makes a challenge, the browser has it signed, and the answer goes along with
// the form. A field [data-passkey] says where the challenge is made and whether
// a passkey is used ("get") or added ("create").
"use strict";
(() => {
  const fieldOf = (form) => form.querySelector("input[data-passkey]");

  const say = (form, words) => {
    const place = form.querySelector("[data-passkey-say]");
    if (place) place.textContent = words;
  };

  // What went wrong, in words of the page, which the server wrote.
  const words = (field, name) => field.dataset[name] || field.dataset.failed;

  const ask = async (form, field) => {
    const csrf = form.querySelector('input[name="csrf_token"]').value;
    const answer = await fetch(field.dataset.passkey, {
      method: "POST", credentials: "same-origin", headers: { Accept: "application/json" },
      body: new URLSearchParams({ csrf_token: csrf }),
    });
    const told = await answer.json();
    if (!answer.ok) throw new Error(told.message || words(field, "failed"));
    if (field.dataset.passkeyKind === "create") {
      return navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(told.publicKey) });
    }
    return navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(told.publicKey) });
  };

  const able = () => window.PublicKeyCredential && PublicKeyCredential.parseRequestOptionsFromJSON && PublicKeyCredential.prototype.toJSON;

  document.addEventListener("submit", async (event) => {
    const form = event.target;
    const field = fieldOf(form);
    const button = event.submitter;
    if (!field || field.value !== "") return;
    if (field.dataset.passkeyFor && !(button && button.value === field.dataset.passkeyFor)) return;
    if (button && button.hasAttribute("formaction")) return;
    event.preventDefault();
    event.stopPropagation();
    if (form.dataset.asking) return;
    if (!able()) {
      say(form, words(field, "unable"));
      return;
    }
    form.dataset.asking = "yes";
    say(form, words(field, "asking"));
    try {
      const credential = await ask(form, field);
      field.value = JSON.stringify(credential.toJSON());
      say(form, "");
      form.requestSubmit(button || undefined);
    } catch (failed) {
      const known = { NotAllowedError: "cancelled", InvalidStateError: "known", SecurityError: "unable" }[failed.name];
      say(form, known ? words(field, known) : failed.message || words(field, "failed"));
    } finally {
      delete form.dataset.asking;
    }
  }, true);

  // A page that comes back from the browser's memory must not send an answer twice.
  window.addEventListener("pageshow", () => {
    for (const field of document.querySelectorAll("input[data-passkey]")) field.value = "";
  });
})();
