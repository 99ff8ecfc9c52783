// RDF terms in SPARQL JSON, as people read them.

const NUMERIC = /^http:\/\/www\.w3\.org\/2001\/XMLSchema#(integer|decimal|double|float|long|int|short|byte|nonNegativeInteger|positiveInteger|unsigned\w+)$/;
const GEO = "http://www.opengis.net/ont/geosparql#wktLiteral";

/** A short text of a term: the last part of an IRI, a literal's text with its language. */
export function short(term) {
  if (!term) return "";
  if (term.type === "uri") return term.value.replace(/[/#]$/, "").replace(/^.*[/#](?=.)/, "");
  if (term.type === "bnode") return `_:${term.value}`;
  if (term.type === "triple") return parts(term, short);
  const number = numberOf(term);
  if (number != null && /\.\d{4,}/.test(term.value)) return number.toLocaleString("en", { maximumFractionDigits: 3 });
  return term["xml:lang"] ? `${term.value} @${tag(term)}` : term.value;
}

/** The whole term, for titles. */
export function whole(term) {
  if (!term) return "unbound";
  if (term.type === "uri") return `<${term.value}>`;
  if (term.type === "bnode") return `_:${term.value}`;
  if (term.type === "triple") return parts(term, whole);
  const tail = term["xml:lang"] ? `@${tag(term)}` : term.datatype ? `^^<${term.datatype}>` : "";
  return `${JSON.stringify(term.value)}${tail}`;
}

function parts({ value }, text) {
  return `<<( ${text(value.subject)} ${text(value.predicate)} ${text(value.object)} )>>`;
}

function tag(term) {
  return term["its:dir"] ? `${term["xml:lang"]}--${term["its:dir"]}` : term["xml:lang"];
}

/** The number that a literal is, or null. */
export function numberOf(term) {
  if (term?.type !== "literal" || !NUMERIC.test(term.datatype ?? "")) return null;
  const number = Number(term.value);
  return Number.isFinite(number) ? number : null;
}

/** Longitude and latitude of a WKT point, or null. */
export function pointOf(term) {
  if (term?.type !== "literal" || (term.datatype && term.datatype !== GEO)) return null;
  const found = /^\s*(?:<[^>]*>\s*)?POINT\s*Z?\s*\(\s*(-?[\d.]+)\s+(-?[\d.]+)/i.exec(term.value);
  return found && [Number(found[1]), Number(found[2])];
}

/** The names of the variables of some solutions. */
export function variablesOf(rows) {
  return [...new Set(rows.flatMap((row) => Object.keys(row)))];
}
