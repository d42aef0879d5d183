import type * as t from 'io-ts';
import type { CodecDocs } from './doc-comments.ts';
import { ruleOf } from './rule.ts';
import { type Shape, shapeOf } from './structure.ts';

export interface CodecRow {
  /** `models.NAME.upstreams[].price`; members that the reader names are in capitals. */
  readonly path: string;
  readonly rule: string;
  readonly optional: boolean;
  /** From the comment above the member; null where there is none. */
  readonly meaning: string | null;
  /** Whether it is there to hold others. */
  readonly holds: boolean;
}

/** Every member that a codec knows, in the order of the source. A codec used in two places is listed once. */
export function codecRows(codec: t.Mixed, docs: CodecDocs | null): CodecRow[] {
  return new RowWalk().inside(shapeOf(codec), '', docs);
}

/** So few members are repeated where they are used. */
const fewMembers = 4;

class RowWalk {
  readonly #described = new Map<object, string>();

  inside({ structure }: Shape, path: string, docs: CodecDocs | null): CodecRow[] {
    switch (structure.kind) {
      case 'members':
        return structure.parts.flatMap((part) =>
          Object.entries(part).flatMap(([name, member]) =>
            this.#rowsOf(member, path === '' ? name : `${path}.${name}`, docs?.member(name) ?? null),
          ),
        );
      case 'list':
        return this.inside(shapeOf(structure.of), `${path}[]`, docs);
      case 'record':
        return this.inside(shapeOf(structure.of), `${path}.NAME`, docs);
      case 'choice':
        return distinct(structure.of.flatMap((choice) => this.inside(shapeOf(choice), path, docs)));
      case 'leaf':
        return [];
    }
  }

  #rowsOf(codec: t.Mixed, path: string, found: ReturnType<CodecDocs['member']>): CodecRow[] {
    const shape = shapeOf(codec);
    const own = { path, optional: shape.optional, meaning: found?.meaning ?? null };
    const members = membersBelow(shape);
    const before = members === null ? undefined : this.#described.get(members);
    if (before !== undefined)
      return [{ ...own, rule: `${holderRule(shape)}, as \`${before}\``, holds: false }];
    const below = this.inside(shape, path, found?.docs ?? null);
    if (members !== null && below.length > fewMembers) this.#described.set(members, path);
    const rule = below.length > 0 ? holderRule(shape) : ruleOf(codec);
    return [{ ...own, rule, holds: below.length > 0 }, ...below];
  }
}

/** The same for two places of one codec. */
function membersBelow({ structure }: Shape): object | null {
  if (structure.kind === 'members') return structure.parts[0] ?? null;
  if (structure.kind === 'list' || structure.kind === 'record') return membersBelow(shapeOf(structure.of));
  return null;
}

function holderRule({ structure, nullable }: Shape): string {
  const words =
    structure.kind === 'list'
      ? 'list of objects'
      : structure.kind === 'record'
        ? 'objects by name'
        : 'object';
  return `${words}${nullable ? ', or null' : ''}`;
}

/** Members that several choices share are one row, with the rules of all. */
function distinct(rows: readonly CodecRow[]): CodecRow[] {
  const paths = [...new Set(rows.map(({ path }) => path))];
  return paths.map((path) => {
    const same = rows.filter((row) => row.path === path);
    const rule = [...new Set(same.map((row) => row.rule))].join(', ');
    return { ...same[0]!, rule, meaning: same.find(({ meaning }) => meaning !== null)?.meaning ?? null };
  });
}
