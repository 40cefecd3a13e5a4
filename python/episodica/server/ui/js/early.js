/* Before the first paint: the theme that was chosen, so that nothing flashes. */
"use strict";
try {
  const theme = localStorage.getItem("episodica.theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // Without storage the system decides.
}
