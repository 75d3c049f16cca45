// Switch between light and dark, on work pages and in the admin.

/** Switch, and keep the choice. */
export function switchTheme() {
  const now = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
  localStorage.setItem("heartbit-theme", now);
  window.showTheme();
}
