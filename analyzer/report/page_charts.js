// SPDX-License-Identifier: GPL-2.0-or-later
// The charts of a run's page: what was tested of each epoch, operations over time, one epoch.
"use strict";

function canvas(place, width, height, label) {
  const svg = document.createElementNS(SVG, "svg");
  for (const [key, value] of Object.entries({ width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label })) svg.setAttribute(key, value);
  place.append(svg);
  return svg;
}

function legend(place, entries) {
  place.replaceChildren(...entries.map(([color, text]) => element("span", {}, element("i", { class: "swatch", style: `background:${color}` }), text)));
}

// Epochs side by side, several in one column where there are many.
function drawCoverage(place) {
  const epochs = report.epochs;
  if (epochs.length === 0) return;
  const width = Math.max(300, Math.min(place.clientWidth, 1120));
  const height = 130;
  const columns = Math.min(epochs.length, Math.floor((width - 10) / 2));
  const svg = canvas(place, width, height + 18, "States by epoch");
  const most = Math.log2(1 + Math.max(1, ...epochs.map((each) => Math.min(each[6], 64))));
  const wide = (width - 10) / columns;
  for (let column = 0; column < columns; ++column) {
    const first = Math.floor(column * epochs.length / columns);
    const part = epochs.slice(first, Math.max(first + 1, Math.floor((column + 1) * epochs.length / columns)));
    const legal = Math.max(...part.map((each) => Math.min(each[6], 64)));
    const tested = part.reduce((sum, each) => sum + each[8], 0);
    const failing = part.reduce((sum, each) => sum + each[9], 0);
    const tall = (log2) => Math.max(2, Math.log2(1 + log2) / most * (height - 12));
    const title = (part.length === 1 ? `epoch ${part[0][0]}` : `epochs ${part[0][0]} to ${part[part.length - 1][0]}`)
      + `: up to 2^${Math.max(...part.map((each) => each[6])).toFixed(1).replace(/\.0$/, "")} legal states each, ${shown(tested)} tested, ${shown(failing)} failing`;
    const x = 5 + column * wide;
    const thick = Math.max(1, wide - (wide > 4 ? 1.5 : 0.4));
    shape(svg, "rect", { x, y: height - tall(legal), width: thick, height: tall(legal), fill: "var(--line)" }, title);
    if (tested) shape(svg, "rect", { x, y: height - Math.min(tall(Math.log2(1 + tested)), tall(legal)), width: thick, height: Math.min(tall(Math.log2(1 + tested)), tall(legal)), fill: "var(--store)" }, title);
    if (failing) shape(svg, "rect", { x, y: height + 2, width: thick, height: 6, fill: "var(--bug)" }, title);
  }
  shape(svg, "text", { x: 5, y: height + 17 }, "", `epoch ${epochs[0][0]}`);
  shape(svg, "text", { x: width - 5, y: height + 17, "text-anchor": "end" }, "", `epoch ${epochs[epochs.length - 1][0]}`);
  legend(byId("coverage-legend"), [["var(--line)", "legal states (height: logarithm of the logarithm)"], ["var(--store)", "tested"], ["var(--bug)", "an epoch with failing states"]]);
}

// Operations: [number, text, first, last, tested, failing]
function drawOperations(place) {
  const operations = report.operations;
  const note = byId("operation-note");
  if (operations.length === 0) {
    note.textContent = "The trace has no marked operations.";
    return;
  }
  const most = 250;
  const step = Math.max(1, Math.ceil(operations.length / most));
  const width = Math.max(300, Math.min(place.clientWidth, 1120));
  const rowHeight = operations.length / step > 60 ? 5 : 18;
  const names = rowHeight > 10 ? Math.min(340, Math.floor(width * 0.4)) : 0;
  const rows = Math.ceil(operations.length / step);
  const svg = canvas(place, width, rows * rowHeight + 22, "Operations over the events of the trace");
  const first = operations[0][2];
  const last = Math.max(first + 1, ...operations.map((each) => (each[3] === null ? report.events : each[3])));
  const at = (seq) => names + 6 + (seq - first) / (last - first) * (width - names - 12);
  const letters = Math.floor(names / 7.2);
  for (let row = 0; row < rows; ++row) {
    const part = operations.slice(row * step, (row + 1) * step);
    const end = Math.max(...part.map((each) => (each[3] === null ? report.events : each[3])));
    const tested = part.reduce((sum, each) => sum + each[4], 0);
    const failing = part.reduce((sum, each) => sum + each[5], 0);
    const title = part.slice(0, 5).map((each) => `${each[0]}: ${each[1]}`).join("\n") + `\nevents ${part[0][2]} to ${end}; ${shown(tested)} states tested, ${shown(failing)} fail`;
    const y = row * rowHeight;
    if (names) shape(svg, "text", { x: 2, y: y + 12 }, title, part[0][1].length > letters ? part[0][1].slice(0, letters - 1) + "\u2026" : part[0][1]);
    shape(svg, "rect", { x: at(part[0][2]), y: y + 2, width: Math.max(2, at(end) - at(part[0][2])), height: rowHeight - 3, rx: 2,
      fill: failing ? "var(--bug)" : tested ? "var(--store)" : "var(--line)" }, title);
  }
  shape(svg, "text", { x: names + 6, y: rows * rowHeight + 15 }, "", `event ${shown(first)}`);
  shape(svg, "text", { x: width - 6, y: rows * rowHeight + 15, "text-anchor": "end" }, "", shown(last));
  legend(note, [["var(--bug)", "states at its crash points fail"], ["var(--store)", "tested, none fails"], ["var(--line)", "no state was tested"]]);
  if (step > 1) note.append(`Each row stands for ${step} operations.`);
  if (report.operations_left_out) note.append(`${shown(report.operations_left_out)} later operations are left out; report.json has all.`);
}

// One epoch, see epoch_picture.h. Pictures are parsed when they are asked for.
let pictureLines = null;
const KINDS = ["store", "non-temporal store", "flush", "fence"];
const COLORS = ["var(--store)", "var(--store)", "var(--flush)", "var(--fence)"];

function drawEpoch(epoch, place) {
  if (!pictureLines) pictureLines = byId("pictures").textContent.split("\n");
  const picture = JSON.parse(pictureLines[epoch[11]]);
  place.replaceChildren();
  place.append(element("h3", {}, `Epoch ${epoch[0]}: events ${epoch[1]} to ${epoch[2]}`));
  place.append(element("p", {}, `Ended by ${picture.e || "the end"}. ${legalText(epoch)} legal states, ${shown(epoch[8])} tested, ${shown(epoch[9])} failing.`
    + (picture.m ? ` ${shown(picture.m)} more events or lines are not drawn.` : "")));
  const names = 150;
  // One column for each event that is drawn, whatever their numbers.
  const columns = [...new Set([...picture.v.map((each) => each[0]), ...picture.c.map((each) => each[0])])].sort((a, b) => a - b);
  const wide = Math.max(7, Math.min(26, (place.clientWidth - names - 60) / Math.max(1, columns.length)));
  const width = names + columns.length * wide + 40;
  const height = picture.l.length * 18 + 50;
  const svg = canvas(place, width, height, `Epoch ${epoch[0]}`);
  const at = (offset) => names + columns.indexOf(offset) * wide;
  const top = 18;
  const bottom = top + Math.max(1, picture.l.length) * 18;
  picture.l.forEach((line, row) => {
    const y = top + row * 18;
    const touched = picture.v.find((each) => each[2] === row && each[1] < 2);
    shape(svg, "text", { x: 2, y: y + 12 }, line[0], line[0].length > 20 ? "\u2026" + line[0].slice(-19) : line[0]);
    shape(svg, "line", { x1: names, x2: width - 36, y1: y + 9, y2: y + 9, stroke: "var(--line)" });
    if (!touched && !line[1]) return;
    const start = line[1] ? names : at(touched[0]) + wide / 2;
    shape(svg, "rect", { x: start, y: y + 4, width: Math.max(2, width - 36 - start), height: 10, fill: "var(--store)", opacity: 0.22 },
      `${line[0]} is in flight${line[1] ? " from before this epoch" : ""}; ${line[2] ? "stays in flight" : "guaranteed at the end"}`);
    shape(svg, "text", { x: width - 32, y: y + 13 }, line[2] ? "stays in flight" : "guaranteed at the end", line[2] ? "\u2192" : "\u2713");
  });
  for (const [offset, kind, row, size, site] of picture.v) {
    const title = `event ${picture.n + offset}: ${KINDS[kind] || "event"}${size ? ` of ${size} bytes` : ""}${row >= 0 ? " at " + picture.l[row][0] : ""}, ${report.sites[site]}`;
    const x = at(offset) + wide / 2;
    if (row < 0) shape(svg, "line", { x1: x, x2: x, y1: top - 4, y2: bottom, stroke: "var(--fence)", "stroke-width": 2 }, title);
    else if (kind === 2) shape(svg, "path", { d: `M${x - 4} ${top + row * 18 + 4}h8l-4 9z`, fill: "var(--flush)" }, title);
    else shape(svg, "rect", { x: x - 3, y: top + row * 18 + 4, width: 6, height: 10, fill: COLORS[kind] }, title);
  }
  for (const [offset, tested, failing] of picture.c) {
    const x = at(offset) + wide / 2;
    shape(svg, "circle", { cx: x, cy: bottom + 10, r: 4, fill: failing ? "var(--bug)" : "var(--good)" }, `power fails before event ${picture.n + offset}: ${tested} states tested, ${failing} fail`);
  }
  shape(svg, "text", { x: 2, y: bottom + 14 }, "", "crash points");
  const note = element("p", { class: "legend" });
  place.append(note);
  legend(note, [["var(--store)", "store; pale: in flight"], ["var(--flush)", "flush"], ["var(--fence)", "fence"], ["var(--bug)", "crash point with failing states"], ["var(--good)", "crash point, all pass"]]);
  const list = element("details", { class: "inner" }, element("summary", {}, "As a list"));
  list.append(element("ol", {}, ...picture.v.map(([offset, kind, row, size, site]) => element("li", { value: picture.n + offset },
    `${KINDS[kind] || "event"}${size ? ` ${size} bytes` : ""}${row >= 0 ? " " + picture.l[row][0] : ""}: ${report.sites[site]}`))));
  place.append(list);
}
