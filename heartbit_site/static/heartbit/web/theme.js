// Set the chosen colour scheme, else the system's, before the page is drawn.
(() => {
  const chosen = localStorage.getItem("heartbit-theme");
  const dark = chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = dark ? "dark" : "light";
})();
