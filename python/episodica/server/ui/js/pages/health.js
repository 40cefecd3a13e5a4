/* Whether everything works that should. */
import { get } from "../api.js";
import { el } from "../dom.js";
import { number, t, word } from "../i18n.js";
import { bytes } from "../format.js";
import { chip, head, pairs, section } from "../parts.js";

export async function health(signal) {
  const [{ health: found, stats }, version] = await Promise.all([
    get("v1/store", signal), get("version", signal),
  ]);
  const good = found.status === "ok";
  return el("div",
    head({ title: t("health"), lead: t("health.lead") }),
    el("div", { class: `notice ${good ? "good" : "bad"}` },
      el("strong", good ? t("health.ok") : t("health.degraded")),
      found.failing.length > 0 && el("p", t("health.failing",
        { what: found.failing.map((one) => word("part", one)).join(", ") })),
      found.last_failure && el("p", { class: "said small" },
        t("health.last", { text: found.last_failure }))),
    section(t("health.store"), pairs([
      [t("health.path"), el("code", found.store.path)],
      [t("health.format"), String(found.store.format)],
      [t("health.problems"), number(found.store.problems)],
      [t("tenant"), stats.tenant],
      [t("users"), number(stats.users)],
      [t("health.open"), number(stats.open_users)],
      [t("count.bytes"), bytes(stats.memory_bytes)],
      [t("health.searches"), number(stats.searches)],
      [t("version.release"), version.version],
    ])),
    section(t("health.embedder"), pairs([
      [t("model"), el("code", found.embedding.model)],
      [t("health.failures"), number(found.embedding.failures)],
      ...endpoint(found.embedding.endpoint),
    ])),
    section(t("health.llm"), found.llm.configured ? pairs([
      [t("model"), el("code", found.llm.model ?? "")],
      [t("health.available"), chip(found.llm.available ? t("yes") : t("no"),
        found.llm.available ? "good" : "bad")],
      ...endpoint(found.llm.endpoint),
    ]) : el("p", { class: "faint" }, t("health.nollm"))),
    Object.keys(stats.mended).length > 0 && section(t("health.mended"),
      pairs(Object.entries(stats.mended).map(([name, count]) => [name, number(count)]))));
}

function endpoint(one) {
  if (!one) return [];
  return [
    [t("health.endpoint"), one.endpoint],
    [t("health.breaker"), chip(word("breaker", one.breaker),
      one.breaker === "closed" ? "good" : "bad")],
    [t("health.requests"), number(one.requests)],
    [t("health.retries"), number(one.retries)],
    [t("health.failures"), number(one.failures)],
  ];
}
