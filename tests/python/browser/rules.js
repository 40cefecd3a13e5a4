/* What every page has to keep: returns what is wrong, in words. */
() => {
  const wrong = [];
  const all = (selector) => [...document.querySelectorAll(selector)];
  const isSeen = (node) => node.checkVisibility({ opacityProperty: true, visibilityProperty: true })
    && !node.closest(".unseen, .skip, [aria-hidden=true]");
  const named = (node) => `${node.tagName.toLowerCase()}.${node.className?.baseVal ?? node.className}`
    + ` "${node.textContent.trim().slice(0, 40)}"`;

  // Landmarks and headings.
  if (!document.documentElement.lang) wrong.push("the page has no language");
  if (all("main").length !== 1) wrong.push("not one main");
  if (all("header").filter((one) => one.parentElement === document.body).length !== 1) {
    wrong.push("not one header");
  }
  for (const nav of all("nav")) if (!nav.ariaLabel) wrong.push("a nav without a label");
  const levels = all("h1, h2, h3, h4").filter((one) => one.checkVisibility())
    .map((one) => Number(one.tagName[1]));
  if (levels.filter((one) => one === 1).length !== 1) wrong.push(`not one h1: ${levels}`);
  levels.forEach((level, index) => {
    if (index > 0 && level > levels[index - 1] + 1) wrong.push(`a heading is skipped: ${levels}`);
  });
  if (!document.title.includes("episodica")) wrong.push("no title");

  // Names.
  for (const one of all("input, select, textarea")) {
    if (!one.labels?.length && !one.ariaLabel) wrong.push(`no label: ${named(one)}`);
  }
  for (const one of all("a, button, summary")) {
    if (!(one.ariaLabel ?? one.textContent).trim()) wrong.push(`no name: ${named(one)}`);
  }
  for (const one of all("img")) if (!one.hasAttribute("alt")) wrong.push("a picture without alt");
  for (const one of all("th")) if (!one.textContent.trim()) wrong.push("a column without a name");
  const ids = all("[id]").map((one) => one.id);
  if (new Set(ids).size !== ids.length) wrong.push("an id twice");
  for (const one of all("a")) {
    if (!/^#/.test(one.getAttribute("href"))) wrong.push(`a link outwards: ${named(one)}`);
  }

  // Contrast.
  const parsed = (colour) => {
    const [r, g, b, a = 1] = colour.match(/[\d.]+/g).map(Number);
    return { r, g, b, a };
  };
  const light = ({ r, g, b }) => {
    const [x, y, z] = [r, g, b].map((one) => one / 255)
      .map((one) => (one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4));
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const ground = (node) => {
    for (let one = node; one; one = one.parentElement) {
      const colour = parsed(getComputedStyle(one).backgroundColor);
      if (colour.a === 1) return colour;
      if (colour.a > 0) wrong.push(`a ground that shines through: ${named(one)}`);
    }
    return { r: 255, g: 255, b: 255 };
  };
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let count = 0;
  while (texts.nextNode()) {
    const node = texts.currentNode.parentElement;
    if (!texts.currentNode.data.trim() || !isSeen(node) || node.closest(":disabled, option")) continue;
    const style = getComputedStyle(node);
    const [high, low] = [light(parsed(style.color)), light(ground(node))].sort((x, y) => y - x);
    const ratio = (high + 0.05) / (low + 0.05);
    const size = parseFloat(style.fontSize);
    const least = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700) ? 3 : 4.5;
    if (ratio < least) wrong.push(`contrast ${ratio.toFixed(2)}: ${named(node)}`);
    count += 1;
  }
  if (count < 5) wrong.push("hardly any text");

  // Room.
  if (document.documentElement.scrollWidth > innerWidth) {
    const wide = all("main *").filter((one) => one.getBoundingClientRect().right > innerWidth + 1
      && !one.closest(".scroll"));
    wrong.push(`wider than the window: ${wide.slice(0, 2).map(named)}`);
  }
  if (document.querySelector("[style]")) wrong.push("an inline style");
  if (/\b(undefined|NaN|\[object)/.test(document.body.innerText)) wrong.push("a value is missing");
  return [...new Set(wrong)];
}
