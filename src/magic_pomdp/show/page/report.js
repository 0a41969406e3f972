// The page that reports on results: its colours. The replay, if there is one, looks after itself.
(() => {
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const button = document.createElement("button");
  button.id = "page-theme";
  button.title = "Light or dark";
  const use = (theme) => {
    if (window.replay) window.replay.setTheme(theme);
    document.documentElement.dataset.theme = theme;
    button.textContent = theme === "dark" ? "Light" : "Dark";
    button.setAttribute("aria-label", `Use ${theme === "dark" ? "light" : "dark"} colours`);
  };
  button.addEventListener("click", () => use(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));
  dark.addEventListener("change", () => use(dark.matches ? "dark" : "light"));
  document.getElementById("buttons").append(button);
  use(dark.matches ? "dark" : "light");
})();
