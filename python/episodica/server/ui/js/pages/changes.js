/* The buttons that correct and delete one record, each with its dialog. */
import { call } from "../api.js";
import { confirmDeletion, correct } from "../dialogs.js";
import { tell } from "../dom.js";
import { t } from "../i18n.js";
import { button } from "../parts.js";
import { go } from "../router.js";
import { can } from "../session.js";
import { deleted } from "./shared.js";

/** As many as the key allows. Deleting leads on to `next`. */
export function changes({ path, current, quoted, correcting, deleting, help, next }) {
  const buttons = [];
  if (can("write")) {
    buttons.push(button(t("correct"), async () => {
      const changed = await correct({
        title: correcting,
        text: t("correct.help"),
        current,
        run: (content) => call("PATCH", path, { body: { content } }),
      });
      if (changed) {
        tell(t("saved"));
        dispatchEvent(new Event("episodica:again"));
      }
    }));
  }
  if (can("erase")) {
    buttons.push(button(t("delete"), async () => {
      const gone = await confirmDeletion({
        title: deleting,
        text: help,
        quoted,
        run: () => call("DELETE", path),
      });
      if (gone) {
        tell(deleted(gone.done));
        go(next);
      }
    }, "danger"));
  }
  return buttons;
}
