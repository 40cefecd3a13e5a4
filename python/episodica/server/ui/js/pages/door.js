/* The way in: a key, or word that the one-time address is no longer good. */
import { el, replace } from "../dom.js";
import { t } from "../i18n.js";
import { failure, field } from "../parts.js";
import { enter } from "../session.js";

export function door(refusal, inside) {
  const wantsAddress = refusal?.kind === "one_time_address";
  const trouble = el("div", refusal && !refusal.expected && failure(refusal));
  if (wantsAddress || (refusal && refusal.status !== 401)) {
    return el("div", { class: "door" }, el("h1", { tabindex: "-1" }, t("door.closed")), trouble);
  }
  const key = el("input", {
    type: "password", autocomplete: "off", spellcheck: "false", required: true,
    "aria-describedby": "key-help",
  });
  return el("div", { class: "door" },
    el("h1", { tabindex: "-1" }, t("door.title")),
    el("p", { id: "key-help", class: "faint" }, t("door.help")),
    trouble,
    el("form", {
      async onsubmit(event) {
        event.preventDefault();
        const text = key.value.trim();
        if (!text) {
          key.focus();
          return;
        }
        try {
          await enter(text);
          inside();
        } catch (problem) {
          replace(trouble, failure(problem));
          key.select();
        }
      },
    }, field(t("door.key"), key, "wide"),
    el("div", { class: "actions" },
      el("button", { type: "submit", class: "button main" }, t("door.enter")))),
    el("p", { class: "faint small" }, t("door.kept")));
}
