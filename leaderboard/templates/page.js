"use strict";
// Tables that sort, filter and go out as CSV; light or dark; all of it in the URL behind "#?", so that a link restores it.
const state = new URLSearchParams(location.hash.startsWith("#?") ? location.hash.slice(2) : "");
function remember(key, ...values) {
  state.delete(key);
  for (const value of values) if (value !== "" && value !== null) state.append(key, value);
  history.replaceState(null, "", state.size ? `#?${state}` : location.pathname + location.search);
}
function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}
function download(name, lines) {
  const quote = (cell) => (/[",\n\r]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell);
  const text = lines.map((line) => line.map((cell) => quote(String(cell))).join(",") + "\n").join("");
  const url = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  element("a", { href: url, download: `${name}.csv` }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

const plain = (head) => head.classList.contains("plain");
const text = (node) => node.textContent.replace(/\s+/g, " ").trim();
const heading = (head) => text(head).replace(/ [▲▼]$/, "");
const value = (cell) => (cell.dataset.sort === undefined ? text(cell) : cell.dataset.sort);

for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  for (const head of heads) {
    if (plain(head)) continue;
    const button = element("button", { type: "button" }, ...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const first = head.classList.contains("num") ? "descending" : "ascending"; // large numbers are what one looks for
      const again = head.getAttribute("aria-sort") === first;
      const up = again === (first === "descending");
      sort(table, head, up);
      remember(`sort-${table.id}`, `${head.cellIndex}${up ? "u" : "d"}`);
    });
  }
  if (table.tBodies[0].rows.length > 1) tools(table, heads);
  const [, column, way] = /^(\d+)([ud])$/.exec(state.get(`sort-${table.id}`) ?? "") ?? [];
  if (heads[column] && !plain(heads[column])) sort(table, heads[column], way === "u");
}

function tools(table, heads) {
  const find = element("input", { type: "search", value: state.get(`find-${table.id}`) ?? "" });
  const count = element("span", { className: "faint" });
  count.setAttribute("role", "status");
  const save = element("button", { type: "button", textContent: "CSV of these rows" });
  const filter = () => {
    const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    const rows = [...table.tBodies[0].rows];
    for (const row of rows) row.hidden = !words.every((word) => row.textContent.toLowerCase().includes(word));
    count.textContent = `${rows.filter((row) => !row.hidden).length} of ${rows.length} rows`;
  };
  find.addEventListener("input", () => { filter(); remember(`find-${table.id}`, find.value); });
  save.addEventListener("click", () => {
    const shown = heads.map((head, i) => i).filter((i) => !plain(heads[i]));
    const rows = [...table.tBodies[0].rows].filter((row) => !row.hidden);
    const lines = rows.map((row) => shown.map((i) => value(row.cells[i])));
    download(table.id, [shown.map((i) => heading(heads[i])), ...lines]);
  });
  const bar = element("div", { className: "tools" }, element("label", {}, "Filter ", find), count, save);
  (table.closest(".scroll") ?? table).before(bar);
  filter();
}

function sort(table, head, up) {
  const numeric = head.classList.contains("num");
  for (const other of head.parentElement.cells) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", up ? "ascending" : "descending");
  const rows = [...table.tBodies[0].rows].map((row) => [key(row.cells[head.cellIndex], numeric), row]);
  rows.sort(([a], [b]) => {
    if (a === null || b === null) return (a === null) - (b === null); // empty last, either way
    return (up ? 1 : -1) * (numeric ? a - b : a.localeCompare(b));
  });
  table.tBodies[0].append(...rows.map(([, row]) => row));
}

function key(cell, numeric) {
  if (!numeric) return value(cell);
  const number = parseFloat(value(cell).replace("−", "-").replaceAll(",", ""));
  return Number.isNaN(number) ? null : number;
}

// Light, dark, or as the system says; kept for the next page where the browser allows it.
const themes = ["auto", "light", "dark"];
const store = { get: () => { try { return localStorage.getItem("theme"); } catch { return null; } },
  set: (theme) => { try { localStorage.setItem("theme", theme); } catch { /* the URL still has it */ } } };
let theme = [state.get("theme"), store.get()].find((each) => themes.includes(each)) ?? "auto";
const themeButton = element("button", { type: "button", className: "theme" });
function paint() {
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  themeButton.textContent = `Colours: ${theme}`;
  dispatchEvent(new Event("repaint"));
}
themeButton.addEventListener("click", () => {
  theme = themes[(themes.indexOf(theme) + 1) % themes.length];
  store.set(theme);
  remember("theme", theme === "auto" ? "" : theme);
  paint();
});
document.querySelector("header").prepend(themeButton);
paint();

// A link to something inside a closed <details> opens it. Run directories can be opened from disk only.
function reveal() {
  const target = document.getElementById(location.hash.slice(1)); // ids are slugs: nothing in them is ever encoded
  const closed = target && target.closest("details");
  if (closed) { closed.open = true; target.scrollIntoView(); }
}
addEventListener("hashchange", reveal);
reveal();
if (location.protocol !== "file:") for (const link of document.querySelectorAll("a.local")) link.removeAttribute("href");
