const data = JSON.parse(document.getElementById("data").textContent);
const $ = (id) => document.getElementById(id);
const make = (tag, cls, text) => { const e = document.createElement(tag); if (cls) e.className = cls; if (text !== undefined) e.textContent = text; return e; };
const rows = []; // {element, node, keys, stage, text}
const us = (ns) => (ns / 1000).toFixed(1) + " us";
const kib = (bytes) => (bytes / 1024).toFixed(0) + " KiB";
const NO_MODULE = "(no module)";
const minor = new Set(data.exports.flatMap((one) => one.minor));
let chosenModule = "", chosen = null;

const first = data.exports[0];
$("title").textContent = first.model + (data.exports.length > 1 ? ": A " + first.name + ", B " + data.exports[1].name : "");
document.title = first.model + ": stages";

function addStage(title, nodes, exportIndex, known) {
  const box = make("div", "stage");
  box.append(make("h2", "", title));
  nodes.forEach((node, index) => {
    const row = make("div", "row", node.op);
    if (minor.has(node.op)) row.classList.add("minor");
    const result = node.results[0];
    row.append(make("small", "", (result ? result.type + (result.layout ? ", " + result.layout : "") : "")));
    if (known && !known.has(signature(node))) { row.classList.add("new"); row.title = "not so in the other export"; }
    const fill = make("div", "fill");
    row.append(fill);
    const entry = { element: row, node, keys: new Set(node.keys), index, nodes, fill, exportIndex, title, text: [node.op, node.module, ...node.source, ...(result ? [result.type, result.layout] : [])].join(" ").toLowerCase() };
    row.addEventListener("click", () => choose(entry));
    rows.push(entry);
    box.append(row);
  });
  $("stages").append(box);
}
const signature = (node) => [node.op, node.keys.join(), JSON.stringify(node.results), JSON.stringify(node.attributes)].join("|");

const codeRows = [];
function addCode(title, name, lines, exportIndex) {
  const box = make("div", "stage code");
  box.append(make("h2", "", title));
  lines.forEach((text, index) => {
    const row = make("div", "row", text || " ");
    const entry = { element: row, place: name + ":" + (index + 1), exportIndex };
    row.addEventListener("click", () => { const found = rows.find((one) => one.exportIndex === exportIndex && one.node.line === entry.place); if (found) choose(found); });
    codeRows.push(entry);
    box.append(row);
  });
  $("stages").append(box);
}

const last = (one) => one.stages[one.stages.length - 1];
data.exports.forEach((one, index) => {
  const side = data.exports.length > 1 ? "AB"[index] + ": " : "";
  const other = data.exports.length > 1 ? new Set(last(data.exports[1 - index]).nodes.map(signature)) : null;
  // Of two exports the last stage and the code stand side by side; of one export all stages.
  (other ? [last(one)] : one.stages).forEach((stage) => addStage(side + stage.name, stage.nodes, index, stage === last(one) ? other : null));
});
data.exports.forEach((one, index) => {
  const side = data.exports.length > 1 ? "AB"[index] + ": " : "";
  for (const [name, lines] of Object.entries(one.code)) addCode(side + name, name, lines, index);
});

// Which columns are shown. A narrow window begins without the stages in the middle, or of two exports without their code.
function columns() {
  const stages = [...$("stages").children].filter((box) => !box.classList.contains("code")), narrow = window.innerWidth < 1700;
  for (const box of $("stages").children) {
    const label = make("label"), check = make("input");
    check.type = "checkbox";
    check.checked = !(narrow && (data.exports.length === 1 ? stages.indexOf(box) > 0 && stages.indexOf(box) < stages.length - 1 : box.classList.contains("code")));
    const toggle = () => box.classList.toggle("off", !check.checked);
    check.addEventListener("change", () => { toggle(); if (chosen) choose(chosen); });
    label.append(check, " " + box.firstChild.textContent);
    $("shown").append(label);
    toggle();
  }
  const label = make("label"), check = make("input");
  check.type = "checkbox";
  check.addEventListener("change", () => $("stages").classList.toggle("all", check.checked));
  label.append(check, " deallocate, load_cached");
  $("shown").append(label);
}

// How many ops of two exports differ, beside the title.
function comparison() {
  if (data.exports.length < 2) return "";
  const [a, b] = data.exports.map((one) => last(one).nodes.filter((node) => !minor.has(node.op)).map(signature));
  const onlyOne = (some, others) => { const set = new Set(others); return some.filter((one) => !set.has(one)).length; };
  const ops = [onlyOne(a, b), onlyOne(b, a)];
  return ops[0] + ops[1] ? ops[0] + " of " + a.length + " ops of A and " + ops[1] + " of " + b.length + " of B differ (green)" : "A and B have the same ops";
}

function choose(entry) {
  chosen = entry;
  for (const one of rows) {
    const linked = [...one.keys].some((key) => entry.keys.has(key));
    one.element.classList.toggle("linked", linked && one !== entry);
    one.element.classList.toggle("chosen", one === entry);
  }
  const lines = new Set(rows.filter((one) => one.node.line && (one === entry || one.element.classList.contains("linked"))).map((one) => one.exportIndex + one.node.line));
  for (const one of codeRows) one.element.classList.toggle("linked", lines.has(one.exportIndex + one.place));
  for (const stage of $("stages").children) {
    const mark = stage.querySelector(".chosen") || stage.querySelector(".linked");
    if (mark) stage.scrollTop = mark.offsetTop - stage.clientHeight / 3;
  }
  details(entry);
}

function details(entry) {
  const box = $("details"), node = entry.node;
  const close = make("button", "close", "close");
  close.addEventListener("click", () => box.classList.add("closed"));
  box.classList.remove("closed");
  box.scrollTop = 0;
  box.replaceChildren(close, make("h2", "", entry.title + " " + entry.index + ": " + node.op));
  const list = make("dl");
  const add = (name, value) => { if (value) { list.append(make("dt", "", name), make("dd", "", value)); } };
  add("module", node.module);
  add("source", node.source.join("\n"));
  add("from", node.from.join(", "));
  add("code", node.line);
  if (node.ns !== undefined) { add("time", us(node.ns) + ", limited by " + node.bound); add("L1 per core", kib(node.l1)); add("programs", node.programs.join(", ")); }
  if (node.error !== undefined) add("relative error", Number(node.error).toExponential(1));
  if (node.pcc !== undefined) add("PCC", Number(node.pcc).toFixed(6));
  box.append(list);
  if (node.line) box.append(make("pre", "", callText(data.exports[entry.exportIndex].code, node.line)));
  box.append(make("h3", "", "operands"));
  for (const edge of node.edges) {
    const from = make("div", "edge", (edge.from >= 0 ? edge.from + ": " : "") + edge.label + "  " + edge.type + (edge.layout ? ", " + edge.layout : ""));
    if (edge.from >= 0) { from.style.cursor = "pointer"; from.addEventListener("click", () => choose(rows.find((one) => one.nodes === entry.nodes && one.index === edge.from))); }
    box.append(from);
  }
  box.append(make("h3", "", "results"));
  for (const result of node.results) box.append(make("div", "edge", result.type + (result.layout ? ", " + result.layout : "") + (result.bytes ? ", " + kib(result.bytes) : "")));
  box.append(make("h3", "", "attributes"));
  const facts = make("dl");
  for (const [name, value] of node.attributes) facts.append(make("dt", "", name), make("dd", "", value));
  box.append(facts);
  if (node.overrides && node.overrides.length) {
    box.append(make("h3", "", "current choice, as an override"), make("p", "soft", "Change the value and pass it in compiler_options, at optimization_level 2."));
    for (const line of node.overrides) {
      const row = make("div", "override"), copy = make("button", "", "copy");
      copy.addEventListener("click", () => copied(line, copy));
      row.append(make("code", "", line), copy);
      box.append(row);
    }
  }
}

// The lines of a call: from its first line to the line that is indented no deeper.
function callText(code, place) {
  const [file, number] = place.split(":"), lines = code[file] || [], first = Number(number) - 1;
  const indent = (text) => text.length - text.trimStart().length;
  let end = first + 1;
  if (/[([{]\s*$/.test(lines[first] || "")) { while (end < lines.length && end < first + 30 && indent(lines[end]) > indent(lines[first])) end++; end++; }
  return lines.slice(first, end).map((text) => text.slice(indent(lines[first] || ""))).join("\n");
}

// A page opened from a file may have no clipboard: then the text is selected for the user to copy.
function copied(text, button) {
  const done = () => { button.textContent = "copied"; setTimeout(() => { button.textContent = "copy"; }, 1500); };
  const select = () => { const range = document.createRange(); range.selectNodeContents(button.previousSibling); const all = getSelection(); all.removeAllRanges(); all.addRange(range); if (document.execCommand("copy")) done(); };
  if (navigator.clipboard) navigator.clipboard.writeText(text).then(done, select); else select();
}

function modules() {
  const tree = { children: new Map() }; // a module: its modules by name, nanoseconds in each export, path
  const ops = (one) => last(one).nodes.filter((node) => node.module || node.ns);
  data.exports.forEach((one, side) => {
    for (const node of ops(one)) {
      let at = tree;
      for (const part of node.module ? node.module.split("/") : [NO_MODULE]) {
        if (!at.children.has(part)) at.children.set(part, { children: new Map(), ns: data.exports.map(() => 0), path: at.path ? at.path + "/" + part : part });
        at = at.children.get(part);
        at.ns[side] += node.ns || 0;
      }
    }
  });
  const button = (path, label, depth, ns) => {
    const item = make("button");
    const [, title, kind] = /^(.*?)( \(\w+\))?$/.exec(label), name = make("span", "", title);
    if (kind) name.append(make("small", "", kind));
    name.style.paddingLeft = depth * 12 + "px";
    item.append(name, make("span", "", ns.some(Boolean) ? (ns.length > 1 ? ns.map((one) => (one / 1000).toFixed(1)).join(" | ") : us(ns[0])) : ""));
    item.title = path || label;
    item.addEventListener("click", () => { chosenModule = path; for (const one of $("modules").children) one.classList.toggle("chosen", one === item); show(); });
    $("modules").append(item);
  };
  button("", data.exports.length > 1 ? "all, us in A | B" : "all", 0, data.exports.map((one) => last(one).nodes.reduce((sum, node) => sum + (node.ns || 0), 0)));
  const walk = (module, depth) => {
    const order = [...module.children].sort((a, b) => (a[0] === NO_MODULE) - (b[0] === NO_MODULE));
    for (const [name, child] of order) { button(child.path, name.replace(/@\d+/g, ""), depth, child.ns); walk(child, depth + 1); }
  };
  walk(tree, 1);
}

function show() {
  const words = $("search").value.toLowerCase().split(/\s+/).filter(Boolean), overlay = $("overlay").value;
  const value = (node) => overlay === "pcc" ? (node.pcc === undefined ? 0 : 1 - node.pcc) : overlay === "bytes" ? node.results.reduce((sum, one) => sum + one.bytes, 0) : overlay ? node[overlay] || 0 : 0;
  const most = Math.max(...rows.map((one) => value(one.node)), 0);
  for (const one of rows) {
    const inModule = !chosenModule || (chosenModule === NO_MODULE && !one.node.module) || one.node.module === chosenModule || one.node.module.startsWith(chosenModule + "/");
    one.element.classList.toggle("hidden", !inModule || !words.every((word) => one.text.includes(word)));
    one.fill.style.width = most ? (100 * value(one.node)) / most + "%" : "0";
  }
}
modules();
columns();
$("note").textContent = [comparison(), ...data.exports.map((one) => one.note)].filter(Boolean).join("; ");
$("search").addEventListener("input", show);
$("overlay").addEventListener("change", show);
show();
const slowest = rows.filter((one) => one.node.ns).sort((a, b) => b.node.ns - a.node.ns)[0];
if (slowest) {
  choose(slowest);
  const column = slowest.element.parentElement, box = $("stages");
  if (column.getBoundingClientRect().right > box.getBoundingClientRect().right) box.scrollLeft = column.offsetLeft - box.offsetLeft;
}
