/* The numbers of a user, and the end of their data. */
import { call, get, userPath } from "../api.js";
import { el, tell } from "../dom.js";
import { number, t } from "../i18n.js";
import { bytes } from "../format.js";
import { button, head, pairs, section } from "../parts.js";
import { confirmDeletion } from "../dialogs.js";
import { go } from "../router.js";
import { can } from "../session.js";
import { deleted } from "./shared.js";

export async function manage({ user, signal }) {
  const counts = await get(userPath(user, "stats"), signal);
  return el("div",
    head({ title: t("manage"), lead: t("manage.lead") }),
    pairs([
      [t("count.messages"), number(counts.messages)],
      [t("count.buffered"), number(counts.buffered)],
      [t("count.episodes"), number(counts.episodes)],
      [t("count.facts"), number(counts.facts + counts.superseded)],
      [t("count.ended"), number(counts.superseded)],
      [t("count.pending_facts"), number(counts.pending_facts)],
      [t("count.pending_vectors"), number(counts.pending_vectors)],
      [t("count.bytes"), bytes(counts.memory_bytes)],
    ]),
    can("erase") && section(t("delete.user"),
      el("div", { class: "notice" },
        el("p", t("delete.user.help")),
        button(t("delete.user.do"), async () => {
          const gone = await confirmDeletion({
            title: t("delete.user"),
            text: t("delete.user.help"),
            phrase: user,
            run: () => call("DELETE", userPath(user)),
          });
          if (gone) {
            tell(deleted(gone.done));
            go("#/");
          }
        }, "danger"))));
}
