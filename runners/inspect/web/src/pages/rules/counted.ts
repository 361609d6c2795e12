/** The rules with what they drop among the chosen rows. */

import type { Heatmap, Rule, Rules } from "../../server/answers";

export type CountedRule = Rule & {
  /** Rows that this rule is the first to drop, among those chosen. */
  drops: number;
};

export function countedRules(answer: Rules, among: Heatmap | null): CountedRule[] {
  if (among === null) return answer.rules.map((rule) => ({ ...rule, drops: rule.first }));
  const sums = new Map(among.rules.map((reason, at) => [reason, (among.dropped[at] ?? []).reduce((sum, rows) => sum + rows, 0)]));
  return answer.rules.map((rule) => ({ ...rule, drops: sums.get(rule.reason) ?? 0 }));
}

export function ruleKey(rule: { list: string; reason: string }): string {
  return `${rule.list}:${rule.reason}`;
}
