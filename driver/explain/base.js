"use strict";
/* What all parts of the page share: the state, the making of elements, events, work in slices.
 *
 * The state is one object. A part that changes it calls announce(topic); a part that shows it
 * calls listen(topic, action). Topics: "function", "tab", "step", "value". The address of the page
 * (after #) repeats the state, so that a reload and a link return to the same place. */

const state = {
  data: null, /* the whole report */
  func: null, /* the function that is shown */
  tab: "passes",
  step: 0, /* index into func.steps */
  value: "", /* name of the chosen value, with % or @ */
  text: 0, /* text index in which it was chosen; PTX_TEXT for a register */
  line: 0, /* line of the final IR that the Code tab shows; 0: none */
};

const PTX_TEXT = -1;

const listeners = {};

function listen(topic, action) {
  (listeners[topic] = listeners[topic] || []).push(action);
}

function announce(topic) {
  (listeners[topic] || []).forEach((action) => action());
}

function byId(id) {
  return document.getElementById(id);
}

/* Sets attributes; "on…" are listeners, false and null leave an attribute out. */
function setAttributes(element, attributes) {
  Object.keys(attributes || {}).forEach((name) => {
    const value = attributes[name];
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined)
      element.setAttribute(name, value);
  });
}

/* An HTML element. Children are elements or strings; null is left out. */
function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  setAttributes(element, attributes);
  append(element, children);
  return element;
}

function append(element, children) {
  children.forEach((child) => {
    if (Array.isArray(child)) append(element, child);
    else if (child !== null && child !== undefined && child !== "") element.append(child);
  });
}

function makeSvg(tag, attributes, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  setAttributes(element, attributes);
  append(element, children);
  return element;
}

function makeButton(text, action, attributes) {
  return make("button", Object.assign({ type: "button", onclick: action }, attributes), text);
}

function replaceChildren(element, ...children) {
  element.textContent = "";
  append(element, children);
}

/* "1 line", "1,024 lines" */
function plural(count, noun) {
  return formatNumber(count) + " " + noun + (count === 1 ? "" : "s");
}

function formatNumber(number) {
  return String(number).replace(/\B(?=(\d{3})+$)/g, ",");
}

/* 12, 1.2k, 34M: at most four characters for a narrow column */
function shortNumber(number) {
  const units = ["", "k", "M", "G", "T"];
  let unit = 0;
  while (number >= 1000 && unit < 4) {
    number /= 1000;
    unit++;
  }
  return (number < 10 && unit ? number.toFixed(1) : String(Math.round(number))) + units[unit];
}

/* Says a sentence to screen readers. */
function tell(sentence) {
  byId("announcer").textContent = sentence;
}

/* Runs jobs in slices of 8 ms, so that the page stays responsive. A job is a function;
 * clearJobs() drops those that have not started. */
let jobs = [];
let jobsScheduled = false;

function addJob(job) {
  jobs.push(job);
  if (!jobsScheduled) {
    jobsScheduled = true;
    setTimeout(runJobs, 0);
  }
}

function clearJobs() {
  jobs = [];
}

function runJobs() {
  const end = performance.now() + 8;
  while (jobs.length && performance.now() < end) jobs.shift()();
  jobsScheduled = jobs.length > 0;
  if (jobsScheduled) setTimeout(runJobs, 4);
}

/* Index of the first element of a sorted array for which test holds; its length if none does. */
function lowerBound(array, test) {
  let low = 0;
  let high = array.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (test(array[middle])) high = middle;
    else low = middle + 1;
  }
  return low;
}

/* Moves the focus in a list of elements by arrow keys, Home and End; true if the key was used. */
function moveInList(event, items, current, choose) {
  const moves = { ArrowDown: 1, ArrowUp: -1, ArrowRight: 1, ArrowLeft: -1 };
  let next = -1;
  if (event.key in moves) next = current + moves[event.key];
  else if (event.key === "Home") next = 0;
  else if (event.key === "End") next = items.length - 1;
  if (next < 0 || next >= items.length) return false;
  event.preventDefault();
  choose(next);
  return true;
}

/* Writes the state after the # of the address, at most every 200 ms: browsers limit such writes. */
let hashTimer = 0;

function writeHash() {
  clearTimeout(hashTimer);
  hashTimer = setTimeout(writeHashNow, 200);
}

function writeHashNow() {
  const parts = ["f=" + encodeURIComponent(state.func.name), "t=" + state.tab, "s=" + state.step];
  if (state.value) parts.push("v=" + encodeURIComponent(state.value), "x=" + state.text);
  if (state.line) parts.push("l=" + state.line);
  history.replaceState(null, "", "#" + parts.join("&"));
}

function readHash() {
  const result = {};
  location.hash.slice(1).split("&").forEach((part) => {
    const equals = part.indexOf("=");
    if (equals < 0) return;
    try {
      result[part.slice(0, equals)] = decodeURIComponent(part.slice(equals + 1));
    } catch (error) {
      /* a damaged escape: as if the part were absent */
    }
  });
  return result;
}
