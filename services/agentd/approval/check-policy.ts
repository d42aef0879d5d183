import { InvalidInput } from '#kit/errors.ts';
import { whyFitsNothing } from './guarding-globs.ts';
import type { ApprovalPolicy, People } from './rule.ts';

/** How far ahead a standing approval may expire. */
const maxStandingDays = 90;

/**
 * What the codec of the policy cannot say about rules, standing approvals and people.
 * @throws InvalidInput (`config_invalid`)
 */
export function checkApprovalPolicy<P extends ApprovalPolicy>(policy: P, now = Date.now()): P {
  const { approval, people } = policy;
  const { rules, standing } = approval;
  for (const [list, entries] of Object.entries({ rules, standing })) {
    for (const [index, entry] of entries.entries()) {
      const at = `/approval/${list}/${index}`;
      if (entries.some(({ name }, other) => other < index && name === entry.name))
        throw invalid(`${at}/name`, `${JSON.stringify(entry.name)} is there twice: must be unique`);
      for (const [name, value] of Object.entries(entry))
        if (Array.isArray(value)) {
          checkList(`${at}/${name}`, value);
          if (name === 'paths') requireFitting(`${at}/${name}`, value);
        }
    }
  }
  for (const [name, globs] of Object.entries(policy.risk))
    if (Array.isArray(globs)) requireFitting(`/risk/${name}`, globs);
  const known = Object.keys(people).length;
  for (const [index, { name, approvers = 1 }] of rules.entries()) {
    if (approvers > known) {
      throw invalid(
        `/approval/rules/${index}/approvers`,
        `is ${approvers}: must be at most the number of people, which is ${known}; '${name}' counts those alone whom /people lists`,
      );
    }
  }
  for (const [index, { expires_at }] of standing.entries()) {
    if (Date.parse(expires_at) <= now + maxStandingDays * 86_400_000) continue;
    const detail = `is ${expires_at}: must be within ${maxStandingDays} days from now`;
    throw invalid(`/approval/standing/${index}/expires_at`, detail);
  }
  requireDistinct(people);
  return policy;
}

function checkList(at: string, list: readonly string[]): void {
  if (list.length === 0) throw invalid(at, 'is empty and fits nothing: must name some, or be left out');
  const negated = list.findIndex((glob) => glob.startsWith('!'));
  if (negated === -1) return;
  throw invalid(
    `${at}/${negated}`,
    `is '${list[negated]}': must not start with !, as no glob takes away from another`,
  );
}

function requireFitting(at: string, globs: readonly string[]): void {
  for (const [index, glob] of globs.entries()) {
    const why = whyFitsNothing(glob);
    if (why !== null) throw invalid(`${at}/${index}`, `is '${glob}' and fits nothing: it ${why}`);
  }
}

/** One token, account, login or address is of one person: else the same person could count as two. */
function requireDistinct(people: People): void {
  const owners = new Map<string, string>();
  for (const [person, { tokens = [], accounts = [], logins = [], emails = [] }] of Object.entries(people)) {
    const names = [
      ...[person, ...tokens].map((name) => `token ${name}`),
      ...accounts.map(({ issuer, subject }) => `account ${subject} of ${issuer}`),
      ...logins.map((login) => `login ${login.replace(/^@/, '').toLowerCase()}`),
      ...emails.map((email) => `address ${email.toLowerCase()}`),
    ];
    for (const name of new Set(names)) {
      const other = owners.get(name);
      if (other !== undefined)
        throw invalid(`/people/${person}`, `has the ${name}, which ${other} has too: must be of one person`);
      owners.set(name, person);
    }
  }
}

function invalid(pointer: string, detail: string): InvalidInput {
  return new InvalidInput('config_invalid', `config/policy.json: ${pointer} ${detail}`, {
    errors: [{ pointer, detail }],
    hint: 'Correct config/policy.json; ./core config show lists what is in force.',
  });
}
