/* Questions before something is deleted or changed. */
import { el, replace } from "./dom.js";
import { t } from "./i18n.js";
import { button, failure, field, said } from "./parts.js";

/** Shows a dialog with a form; resolves to what `run` returned, or `null` if it was left. */
function ask({ title, body, verb, kind, focus, ready = () => true, run }) {
  return new Promise((resolve) => {
    const trouble = el("div");
    let outcome = null;
    const yes = el("button", { type: "submit", class: `button main ${kind}` }, verb);
    const no = button(t("cancel"), () => dialog.close());
    const check = () => { yes.disabled = !ready(); };
    const form = el("form", {
      novalidate: true,
      oninput: check,
      async onsubmit(event) {
        event.preventDefault();
        if (!ready()) return;
        yes.disabled = true;
        replace(trouble);
        try {
          outcome = { done: await run() };
          dialog.close();
        } catch (problem) {
          replace(trouble, failure(problem));
          check();
        }
      },
    }, el("h2", { id: "dialog-title" }, title), body, trouble,
    el("div", { class: "actions" }, no, yes));
    const dialog = el("dialog", {
      "aria-labelledby": "dialog-title",
      onclose() {
        dialog.remove();
        resolve(outcome);
      },
    }, form);
    check();
    document.body.append(dialog);
    dialog.showModal();
    (focus ?? no).focus();
  });
}

/**
 * Asks before something is deleted. With `phrase`, it has to be typed. Resolves to
 * `{done: report}`, or `null`.
 */
export function confirmDeletion({ title, text, quoted, phrase, run }) {
  const typed = el("input", { type: "text", autocomplete: "off", spellcheck: "false" });
  return ask({
    title,
    body: [
      el("p", text),
      quoted && el("div", { class: "quoted" }, said(quoted)),
      phrase && field(t("delete.type", { phrase }), typed, "wide"),
    ],
    verb: t("delete"),
    kind: "danger",
    focus: phrase ? typed : undefined,
    ready: () => !phrase || typed.value === phrase,
    run,
  });
}

/** Asks for the corrected text of a record. */
export function correct({ title, text, current, run }) {
  const area = el("textarea", { value: current, rows: "8" });
  return ask({
    title,
    body: [
      el("p", { class: "faint" }, text),
      el("details", el("summary", t("correct.now")),
        el("div", { class: "quoted" }, said(current))),
      field(t("correct.text"), area, "wide"),
    ],
    verb: t("save"),
    kind: "",
    focus: area,
    ready: () => area.value.trim() !== "" && area.value !== current,
    run: () => run(area.value),
  });
}
