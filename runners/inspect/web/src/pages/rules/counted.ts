/** The rules with what they drop among the chosen rows. */

import type { Heatmap, Rule, Rules } from "../../server/answers";

export type CountedRule = Rule & {
  /** Rows that this rule is the first to drop, among those chosen. */
  drops: number;
};

export function countedRules(answer: Rules, among: Heatmap | null): CountedRule[] {
  if (among === null) return answer.rules.map((rule) => ({ ...rule, drops: rule.first }));
  const drops = new Map(among.rules.map((rule) => [ruleKey(rule), rule.cells.reduce((sum, cell) => sum + cell.first, 0)]));
  return answer.rules.map((rule) => ({ ...rule, drops: drops.get(ruleKey(rule)) ?? 0 }));
}

export function ruleKey(rule: { list: string; reason: string }): string {
  return `${rule.list}:${rule.reason}`;
}
