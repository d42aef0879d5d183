import * as t from 'io-ts';
import { nullable, oneOf } from '../decode.ts';

/** A text that holds a patch, or a part of it. */
const PatchPlace = t.strict({
  kind: oneOf(['issue', 'task', 'comment']),
  /** The forge's identifier of a comment; null for the others. */
  id: nullable(t.string),
  /** When the comment was written; null for the others. */
  at: nullable(t.string),
});
export type PatchPlace = t.TypeOf<typeof PatchPlace>;

/** Who wrote the patch of a plan. */
export const PatchAuthor = t.union([
  t.strict({
    kind: t.literal('person'),
    login: t.string,
    /** As the forge names it, for example `contributor`. */
    association: t.string,
    /** True if the author may write to the repository. */
    trusted: t.boolean,
    /** The patch stands in a quote: the author of the text quotes it, and who wrote it is not known. */
    quoted: t.boolean,
    /** The patch did not fit as written, and Core repaired it. */
    repaired: t.boolean,
    /** Several for a series, oldest first. */
    places: t.array(PatchPlace),
  }),
  t.strict({ kind: t.literal('model'), model: t.string }),
  t.strict({
    kind: t.literal('agent'),
    agent: t.string,
    protocol: oneOf(['acp', 'command']),
    /** null where it asks no model of the gateway. */
    model: nullable(t.string),
  }),
]);
export type PatchAuthor = t.TypeOf<typeof PatchAuthor>;

/** For people: `issue by mira (contributor)`. Not safe to print. */
export function issueAuthorText(
  number: number | null | undefined,
  { author, association }: { readonly author: string; readonly association: string },
): string {
  const standing = association === 'none' ? noAccess : association;
  return `${number === null ? 'task' : 'issue'} by ${nameText(author)} (${standing})`;
}

/**
 * For people: `patch by eve (no write access), comment 3 of 2026-11-28`; null for a plan without a patch. Not safe to print.
 * @param plan facts of a plan, of any version of Core
 */
export function patchAuthorText(
  plan: { readonly patch?: unknown; readonly patch_by?: unknown } | null | undefined,
): string | null {
  if (plan?.patch == null) return null;
  const { patch_by } = plan;
  return PatchAuthor.is(patch_by)
    ? `patch by ${authorText(patch_by)}`
    : 'patch by an author not on record (planned by an older version)';
}

/** For people: `eve (no write access), comment 3 of 2026-11-28`. Not safe to print. */
export function authorText(by: PatchAuthor): string {
  switch (by.kind) {
    case 'person': {
      const { login, association, trusted, quoted, repaired, places } = by;
      const other = association === 'none' ? noAccess : `${association}, ${noAccess}`;
      return [
        `${quoted ? 'an unknown author, quoted by ' : ''}${nameText(login)} (${trusted ? association : other})`,
        placesText(places),
        ...(repaired ? ['repaired by Core'] : []),
      ].join(', ');
    }
    case 'model':
      return `model ${by.model}`;
    case 'agent': {
      const kind = by.protocol === 'command' ? 'command' : 'agent';
      return `${kind} ${nameText(by.agent)}${by.model === null ? '' : `, model ${by.model}`}`;
    }
  }
}

const noAccess = 'no write access';

/** A name with other characters is quoted, so that no part of it passes for a standing or a place. */
function nameText(name: string): string {
  return /^[\p{L}\p{N}._@+[\]-]+$/u.test(name) ? name : JSON.stringify(name);
}

const maxPlaces = 2;

function placesText(places: readonly PatchPlace[]): string {
  const texts = places.map(({ kind, id, at }) =>
    kind === 'comment' ? `comment ${id} of ${at?.slice(0, 10)}` : `in the ${kind}`,
  );
  if (texts.length <= maxPlaces) return texts.join(' and ');
  return `${texts[0]} and ${texts.length - 1} more texts`;
}
