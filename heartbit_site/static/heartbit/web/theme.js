// Before anything is drawn: the colours somebody chose, else the system's.
(() => {
  const chosen = localStorage.getItem("heartbit-theme");
  const dark = chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = dark ? "dark" : "light";
})();
