// SPDX-License-Identifier: GPL-2.0-or-later
// What is interactive on a run's page: filters, the list of epochs, charts. Texts go into the page
// as text, never as markup.
"use strict";
const report = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);
const SVG = "http://www.w3.org/2000/svg";

function element(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function shape(parent, name, attributes, title, text) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (title) {
    const hint = document.createElementNS(SVG, "title");
    hint.textContent = title;
    made.append(hint);
  }
  if (text !== undefined) made.append(text);
  parent.append(made);
  return made;
}

const shown = (number) => Number(number).toLocaleString("en-US");
const cell = (text, kind) => element("td", kind ? { class: kind } : {}, String(text));
const legalText = (epoch) => (epoch[7] === null ? "2^" + epoch[6].toFixed(1).replace(/\.0$/, "") : shown(epoch[7]));

// ---- findings
function filterFindings() {
  const text = byId("filter-text").value.trim().toLowerCase();
  const severity = byId("filter-severity").value;
  const module = byId("filter-module").value;
  let count = 0;
  for (const finding of document.querySelectorAll("details.finding")) {
    const fits = (!severity || finding.dataset.severity === severity)
      && (!module || finding.dataset.module === module)
      && (!text || finding.textContent.toLowerCase().includes(text));
    finding.hidden = !fits;
    count += fits;
  }
  byId("filter-count").textContent = shown(count) + " shown";
  byId("no-match").hidden = count !== 0;
}

function openFindings(open) {
  for (const finding of document.querySelectorAll("details.finding:not([hidden])")) finding.open = open;
}

function openNamed() {
  let named = null;
  try {
    named = byId(decodeURIComponent(location.hash.slice(1)));
  } catch (error) {
    return; // not an id of ours
  }
  if (named && named.tagName === "DETAILS") {
    named.hidden = false;
    named.open = true;
    named.scrollIntoView();
  }
}

function setUpFindings() {
  openNamed();
  addEventListener("hashchange", openNamed);
  if (!byId("filters")) return;
  for (const id of ["filter-text", "filter-severity", "filter-module"]) byId(id).addEventListener("input", filterFindings);
  byId("filters").addEventListener("submit", (event) => event.preventDefault());
  byId("expand-all").addEventListener("click", () => openFindings(true));
  byId("collapse-all").addEventListener("click", () => openFindings(false));
  filterFindings(); // a browser may have kept what was typed
}

// ---- functions
let allFunctions = false;
const FEW_FUNCTIONS = 25;

function showFunctions() {
  const text = byId("function-text").value.trim().toLowerCase();
  const module = byId("function-module").value;
  const fitting = report.functions.filter((each) => (!module || "m" + each[1] === module)
    && (!text || (each[0] + " " + each[1]).toLowerCase().includes(text)));
  const rows = allFunctions ? fitting : fitting.slice(0, FEW_FUNCTIONS);
  byId("function-rows").replaceChildren(...rows.map((each) => element("tr", {},
    element("td", {}, element("code", {}, each[0])), cell(each[1] || "unknown"),
    ...each.slice(2).map((number) => cell(number ? shown(number) : "", "n")))));
  byId("function-count").textContent = `${shown(rows.length)} of ${shown(fitting.length)}`;
  byId("function-more").disabled = fitting.length <= FEW_FUNCTIONS;
  byId("function-more").textContent = allFunctions ? "Show few" : "Show all";
}

function setUpFunctions() {
  const modules = [...new Set(report.functions.map((each) => each[1]))].sort();
  byId("function-module").append(...modules.map((each) => element("option", { value: "m" + each }, each || "unknown")));
  byId("function-text").addEventListener("input", showFunctions);
  byId("function-module").addEventListener("input", showFunctions);
  byId("function-more").addEventListener("click", () => { allFunctions = !allFunctions; showFunctions(); });
  byId("function-filters").addEventListener("submit", (event) => event.preventDefault());
  showFunctions();
}

// ---- the list of epochs: [number, first, end, stores, flushes, lines, legal as a logarithm, legal, tested, failing,
// operation, picture]
const PAGE = 20;
let chosenEpochs = [];
let firstShown = 0;
let openEpoch = -1;

function chooseEpochs() {
  const failing = byId("epochs-failing").checked;
  const untested = byId("epochs-untested").checked;
  chosenEpochs = report.epochs.filter((each) => (!failing || each[9] > 0) && (!untested || each[8] === 0));
  firstShown = 0;
  showEpochs();
}

function epochRow(epoch) {
  const button = element("button", { type: "button", "data-epoch": epoch[0], "aria-label": `Picture of epoch ${epoch[0]}` }, "Picture");
  button.disabled = epoch[11] < 0;
  button.addEventListener("click", () => openPicture(epoch));
  const operation = epoch[10] < 0 ? "" : report.operations[epoch[10]] ? report.operations[epoch[10]][1] : "";
  const row = element("tr", epoch[0] === openEpoch ? { class: "chosen" } : {}, cell(epoch[0], "n"), element("td", {}, button), cell(`${epoch[1]} to ${epoch[2]}`, "tight"),
    cell(operation.length > 60 ? operation.slice(0, 60) + "\u2026" : operation), cell(shown(epoch[3]), "n"), cell(shown(epoch[4]), "n"), cell(shown(epoch[5]), "n"),
    cell(legalText(epoch), "n"), cell(epoch[8] ? shown(epoch[8]) : "none", "n"), cell(epoch[9] ? shown(epoch[9]) : "", "n"));
  if (epoch[9]) row.lastChild.style.color = "var(--bug)";
  return row;
}

function showEpochs() {
  firstShown = Math.max(0, Math.min(firstShown, chosenEpochs.length - 1));
  const page = chosenEpochs.slice(firstShown, firstShown + PAGE);
  byId("epoch-rows").replaceChildren(...page.map(epochRow));
  byId("epoch-page").textContent = page.length === 0 ? "no epochs"
    : `${shown(firstShown + 1)} to ${shown(firstShown + page.length)} of ${shown(chosenEpochs.length)}`;
  byId("epoch-previous").disabled = firstShown === 0;
  byId("epoch-next").disabled = firstShown + PAGE >= chosenEpochs.length;
}

function goToEpoch(number) {
  const at = chosenEpochs.findIndex((each) => each[0] >= number);
  firstShown = at < 0 ? chosenEpochs.length - 1 : at;
  showEpochs();
}

function openPicture(epoch) {
  openEpoch = epoch[0];
  showEpochs();
  drawEpoch(epoch, byId("epoch-picture"));
  byId("epochs").scrollIntoView({ block: "start" });
  const button = document.querySelector(`button[data-epoch="${epoch[0]}"]`);
  if (button) button.focus({ preventScroll: true }); // it was made anew
}

function setUpEpochs() {
  byId("epochs-failing").addEventListener("input", chooseEpochs);
  byId("epochs-untested").addEventListener("input", chooseEpochs);
  byId("epoch-previous").addEventListener("click", () => { firstShown -= PAGE; showEpochs(); });
  byId("epoch-next").addEventListener("click", () => { firstShown += PAGE; showEpochs(); });
  byId("epoch-goto").addEventListener("change", (event) => { if (event.target.value !== "") goToEpoch(Number(event.target.value)); });
  byId("epoch-filters").addEventListener("submit", (event) => event.preventDefault());
  chooseEpochs();
}

// Charts are drawn when they come near the window.
function drawLater(id, draw) {
  const place = byId(id);
  const seen = new IntersectionObserver((entries) => {
    if (!entries.some((entry) => entry.isIntersecting)) return;
    seen.disconnect();
    draw(place);
  }, { rootMargin: "300px" });
  seen.observe(place);
}

addEventListener("DOMContentLoaded", () => {
  setUpFindings();
  setUpFunctions();
  setUpEpochs();
  drawLater("coverage-chart", drawCoverage);
  drawLater("operation-chart", drawOperations);
});
