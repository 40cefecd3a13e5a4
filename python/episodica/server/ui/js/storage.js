/* What the browser keeps: choices for good, the credential until its tab is closed. */
export function kept(name) {
  try {
    return localStorage.getItem(`episodica.${name}`);
  } catch {
    return null;
  }
}

export function keep(name, value) {
  try {
    localStorage.setItem(`episodica.${name}`, value);
  } catch {
    // A choice that can't be kept is lost with the page.
  }
}

let held = null;

export function credential() {
  if (held !== null) return held;
  try {
    return sessionStorage.getItem("episodica.credential");
  } catch {
    return null;
  }
}

export function setCredential(value) {
  held = value;
  try {
    if (value === null) sessionStorage.removeItem("episodica.credential");
    else sessionStorage.setItem("episodica.credential", value);
  } catch {
    // In memory only.
  }
}
