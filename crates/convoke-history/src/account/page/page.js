"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const items = [...document.querySelectorAll(".item")];
  const links = [...document.querySelectorAll("[data-step]")];
  const chips = [...document.querySelectorAll(".chip")];
  const search = byId("search"), shown = byId("shown"), clear = byId("clear");
  const wanted = { step: null, kinds: new Set(), text: "" };
  const texts = new Map();
  let waiting = 0;

  // Read once, and only when somebody searches.
  const textOf = (element) => {
    if (!texts.has(element)) texts.set(element, element.textContent.toLowerCase());
    return texts.get(element);
  };
  const isBelow = (path, step) => path === step || path.startsWith(step + "/");
  const fits = (item) =>
    (wanted.step === null || (item.dataset.path !== undefined && isBelow(item.dataset.path, wanted.step))) &&
    (wanted.kinds.size === 0 || item.dataset.kinds.split(" ").some((kind) => wanted.kinds.has(kind))) &&
    (wanted.text === "" || textOf(item).includes(wanted.text));

  const apply = () => {
    let count = 0;
    for (const item of items) {
      const keep = fits(item);
      item.hidden = !keep;
      if (!keep) continue;
      count += 1;
      // What was searched for should be seen, not only counted.
      if (wanted.text !== "")
        for (const fold of item.querySelectorAll(".fold")) fold.open = textOf(fold).includes(wanted.text);
    }
    const all = wanted.step === null && wanted.kinds.size === 0 && wanted.text === "";
    const number = (value) => value.toLocaleString("en");
    shown.value = all ? `${number(items.length)} events` : `${number(count)} of ${number(items.length)} events`;
    clear.hidden = all;
    for (const link of links) {
      const on = link.dataset.step === wanted.step;
      link.closest("summary, .leaf").classList.toggle("on", on);
      if (on) link.setAttribute("aria-current", "true"); else link.removeAttribute("aria-current");
    }
    for (const chip of chips) chip.setAttribute("aria-pressed", String(wanted.kinds.has(chip.dataset.kind)));
  };
  const reset = () => {
    wanted.step = null;
    wanted.kinds.clear();
    wanted.text = search.value = "";
    apply();
  };

  for (const link of links)
    link.addEventListener("click", (event) => {
      event.preventDefault();
      wanted.step = wanted.step === link.dataset.step ? null : link.dataset.step;
      apply();
      document.querySelector("main").scrollIntoView({ block: "start" });
    });
  for (const chip of chips)
    chip.addEventListener("click", () => {
      const kind = chip.dataset.kind;
      if (!wanted.kinds.delete(kind)) wanted.kinds.add(kind);
      apply();
    });
  search.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      wanted.text = search.value.trim().toLowerCase();
      apply();
    }, 120);
  });
  clear.addEventListener("click", reset);
  // A link to an item that is left out shows everything again.
  addEventListener("hashchange", () => {
    const target = byId(location.hash.slice(1));
    if (target && target.hidden) {
      reset();
      target.scrollIntoView();
    }
  });
  addEventListener("keydown", (event) => {
    if (event.key === "/" && document.activeElement !== search) {
      event.preventDefault();
      search.focus();
    } else if (event.key === "Escape") reset();
  });

  document.documentElement.classList.add("js");
  document.querySelector(".tools").hidden = false;
  if (matchMedia("(max-width: 56rem)").matches) document.querySelector(".steps > details").open = false;
  apply();
})();
