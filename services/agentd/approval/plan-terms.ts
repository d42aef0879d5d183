import type { PlanTerms } from '#kit/contracts/approval.ts';
import type { CodeOwners } from './code-owners.ts';
import { type ApprovalsNow, authorOf } from './current.ts';
import { needsText } from './progress.ts';
import { ruleDigest } from './rule.ts';
import {
  applied,
  fits,
  type JudgedAction,
  requestersOf,
  rulesFor,
  whyNotCovered,
  whyNotWhole,
} from './terms.ts';

type PlannedAction = JudgedAction & { readonly action_id: string; readonly ordinal: number };

interface Planned {
  readonly request: Parameters<typeof requestersOf>[1];
  readonly actions: readonly PlannedAction[];
  /** What the patch touches. */
  readonly paths: readonly string[];
  /** Later of the clock and the run's last event. */
  readonly now: string;
  /** Asked only where a rule wants code owners. @throws Refused (`code_owners_unreadable`) */
  readonly codeOwners: () => Promise<CodeOwners>;
}

/** What the approval of each action of a plan needs; undefined where one person's is enough for every one. */
export async function planTerms(
  current: Omit<ApprovalsNow, 'signatures'>,
  planned: Planned,
): Promise<PlanTerms | undefined> {
  const { policy } = current;
  const { request, actions, paths, now } = planned;
  const terms = actions.map((action) => {
    const rules = rulesFor(policy, action, paths).map(applied);
    const standing =
      rules.length > 0 || policy.approval.require_signature
        ? undefined
        : policy.approval.standing.find(
            (one) =>
              authorOf(one, current).why === null &&
              whyNotCovered(one, current, action, { actions, paths }, now) === null,
          );
    const use =
      standing === undefined
        ? null
        : { name: standing.name, digest: ruleDigest(standing), author: standing.author };
    return { action_id: action.action_id, rules, standing: use };
  });
  const asked = terms.filter(({ rules, standing }) => rules.length > 0 || standing !== null);
  if (asked.length === 0) return undefined;
  const wantsOwners = asked.some(({ rules }) => rules.some(({ code_owners }) => code_owners));
  const owners = wantsOwners ? await planned.codeOwners() : null;
  return {
    requesters: requestersOf(policy.people, request),
    code_owners:
      owners === null
        ? null
        : {
            path: owners.path,
            owned: owners.owned.map(({ owners, files }) => ({ owners: [...owners], files: [...files] })),
          },
    actions: asked,
  };
}

/** Standing approvals for the repository that cover nothing of the plan, with the reason. */
export function standingNotices(
  current: Pick<ApprovalsNow, 'policy' | 'forges' | 'tokens'>,
  { actions, paths, now }: Pick<Planned, 'actions' | 'paths' | 'now'>,
): string[] {
  const [first] = actions;
  if (first === undefined) return [];
  const { owner, repo } = first.target;
  return current.policy.approval.standing
    .filter(({ repositories }) => repositories.some((glob) => fits([glob], `${owner}/${repo}`)))
    .flatMap((one) => {
      const why =
        authorOf(one, current).why ?? whyNotWhole(one, current, first.target, { actions, paths }, now);
      return why === null ? [] : [`the standing approval '${one.name}' covers none of it: ${why}`];
    });
}

/** What people should know of it before they decide. */
export function termsNotices(
  terms: PlanTerms | undefined,
  actions: readonly Pick<PlannedAction, 'action_id' | 'ordinal' | 'kind'>[],
): string[] {
  if (terms === undefined) return [];
  const nameOf = (id: string) => {
    const found = actions.find(({ action_id }) => action_id === id);
    return found === undefined ? id : `${found.ordinal} ${found.kind}`;
  };
  const byStanding = Map.groupBy(
    terms.actions.filter(({ standing }) => standing !== null),
    ({ standing }) => `the standing approval '${standing!.name}' of ${standing!.author}`,
  );
  const byRules = Map.groupBy(
    terms.actions.filter(({ rules }) => rules.length > 0),
    ({ rules }) => {
      const names = rules.map(({ name }) => `'${name}'`).join(' and ');
      return `${rules.length === 1 ? 'the rule' : 'the rules'} ${names} of policy.json ${rules.length === 1 ? 'asks' : 'ask'} for ${needsText({ ...terms, rules })}`;
    },
  );
  const names = (list: readonly { readonly action_id: string }[]) =>
    list.map(({ action_id }) => nameOf(action_id)).join(', ');
  return [
    ...[...byRules].map(([what, list]) => `${names(list)}: ${what}`),
    ...[...byStanding].map(([what, list]) => `${names(list)}: approved by ${what}`),
    ...(terms.code_owners !== null && terms.code_owners.path === null
      ? ['the base commit has no CODEOWNERS, so that no code owner is asked']
      : []),
  ];
}
