/* Who there is. */
import { asking, get } from "../api.js";
import { el } from "../dom.js";
import { t } from "../i18n.js";
import { empty, field, growing, head } from "../parts.js";
import { can, me } from "../session.js";
import { go, link } from "../router.js";

const PAGE = 60;

export async function users(signal) {
  const top = head({ title: t("users"), lead: t("users.lead", { tenant: me.tenant }) });
  if (!can("admin")) return el("div", top, byName());
  const list = growing({
    kind: "people",
    label: t("users"),
    load: async (cursor) => {
      const page = await get(asking("v1/users", { limit: PAGE, cursor }), signal);
      return { items: page.users, next_cursor: page.next_cursor };
    },
    draw: (user) => el("li", el("a", { href: link("user", user), dir: "auto" }, user)),
    none: () => empty(t("users.none"), t("users.none.help"),
      el("pre", "episodica demo\nepisodica ingest chat.json --user alice")),
  });
  await list.ready;
  return el("div", top, list.element, el("div", { class: "section" }, byName()));
}

/** For keys that may not list users, and for stores with very many. */
function byName() {
  const name = el("input", { type: "text", autocomplete: "off", spellcheck: "false" });
  return el("form", {
    class: "fields",
    onsubmit(event) {
      event.preventDefault();
      if (name.value) go(link("user", name.value));
    },
  }, field(t("users.byname"), name),
  el("button", { type: "submit", class: "button" }, t("users.open")));
}

