/** The rules with what they drop among the chosen rows. */

import type { Heatmap, Rule, Rules } from "../../server/answers";

export type CountedRule = Rule & {
  /** Rows that this rule is the first to drop, among those chosen; null while it is not known. */
  drops: number | null;
};

/** `among`: what rules drop of the chosen rows; null for all rows, `"unknown"` until it is answered. */
export function countedRules(answer: Rules, among: Heatmap | null | "unknown"): CountedRule[] {
  if (among === "unknown") return answer.rules.map((rule) => ({ ...rule, drops: null }));
  if (among === null) return answer.rules.map((rule) => ({ ...rule, drops: rule.first }));
  const drops = new Map(among.rules.map((rule) => [ruleKey(rule), firstOf(rule)]));
  return answer.rules.map((rule) => ({ ...rule, drops: drops.get(ruleKey(rule)) ?? 0 }));
}

/** Without a total those of the languages that have a column are added up. */
function firstOf(rule: Heatmap["rules"][number]): number {
  return rule.all?.first ?? rule.cells.reduce((sum, cell) => sum + cell.first, 0);
}

export function ruleKey(rule: { list: string; reason: string }): string {
  return `${rule.list}:${rule.reason}`;
}
