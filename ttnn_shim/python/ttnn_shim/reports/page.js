for (const head of document.querySelectorAll("table.sortable th.sort")) {
  const sort = () => {
    const body = head.closest("table").tBodies[0], column = head.cellIndex, up = head.dataset.order === "down";
    const key = (row) => {
      const cell = row.cells[column], value = cell.dataset.v ?? cell.textContent;
      return cell.dataset.v === undefined ? value.toLowerCase() : Number(value);
    };
    const rows = [...body.rows].sort((a, b) => { const x = key(a), y = key(b); return (x < y ? -1 : x > y ? 1 : 0) * (up ? 1 : -1); });
    for (const other of head.parentNode.cells) delete other.dataset.order;
    head.dataset.order = up ? "up" : "down";
    body.append(...rows);
  };
  head.addEventListener("click", sort);
  head.addEventListener("keydown", (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); sort(); } });
}
