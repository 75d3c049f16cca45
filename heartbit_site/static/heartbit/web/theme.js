// Before the page is drawn: the chosen colour scheme, else the system's; and the reader's time zone,
// which the server reads from a cookie.
window.showTheme = () => {
  const chosen = localStorage.getItem("heartbit-theme");
  const dark = chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  const page = document.documentElement;
  page.dataset.theme = dark ? "dark" : "light";
  page.classList.toggle("dark", dark); // what the admin's theme knows
};
window.showTheme();
document.cookie = `heartbit_zone=${encodeURIComponent(Intl.DateTimeFormat().resolvedOptions().timeZone)}; path=/; max-age=31536000; SameSite=Lax`;
