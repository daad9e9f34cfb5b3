"use strict";
// Click a heading to sort a table: numbers by value (data-sort where the text is dressed), the rest as text; empty last.
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  for (const head of table.tHead.rows[0].cells) {
    if (head.classList.contains("plain")) continue;
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => sort(body, head));
  }
}

function sort(body, head) {
  const numeric = head.classList.contains("num");
  const first = numeric ? "descending" : "ascending"; // large numbers are what one looks for
  const up = (head.getAttribute("aria-sort") === first) === numeric;
  for (const other of head.parentElement.cells) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", up ? "ascending" : "descending");
  const rows = [...body.rows].map((row) => [key(row.cells[head.cellIndex], numeric), row]);
  rows.sort(([a], [b]) => {
    if (a === null || b === null) return (a === null) - (b === null);
    return (up ? 1 : -1) * (numeric ? a - b : a.localeCompare(b));
  });
  body.append(...rows.map(([, row]) => row));
}

function key(cell, numeric) {
  const text = (cell.dataset.sort ?? cell.textContent).trim().replace("−", "-");
  if (!numeric) return text;
  const number = parseFloat(text);
  return Number.isNaN(number) ? null : number;
}

// A link to a table inside a closed <details> opens it.
function reveal() {
  const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (target instanceof HTMLDetailsElement) target.open = true;
}
addEventListener("hashchange", reveal);
reveal();
