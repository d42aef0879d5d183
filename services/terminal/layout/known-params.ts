import * as t from 'io-ts';
import { nullable } from '#kit/decode.ts';

/** What the page knows to show better than as JSON; everything else of an action's parameters is shown as it is. */

const Command = t.strict({ name: t.string, run: t.string });
export const ShownValidation = t.strict({
  found: t.string,
  prepare: t.array(Command),
  prepare_network: t.boolean,
  commands: t.array(Command),
  limits: t.strict({ seconds: t.number, memory_mib: t.number }),
});
export type ShownValidation = t.TypeOf<typeof ShownValidation>;

export const ShownFiles = t.array(
  t.strict({
    path: t.string,
    old_path: nullable(t.string),
    status: t.string,
    added: nullable(t.number),
    removed: nullable(t.number),
    old_mode: nullable(t.string),
    new_mode: nullable(t.string),
  }),
);
export type ShownFiles = t.TypeOf<typeof ShownFiles>;

export const ShownAuthor = t.strict({ name: t.string, email: t.string });

export const ShownPlan = t.partial({
  planner: t.string,
  title: t.string,
  stop_reason: t.string,
  notices: t.array(t.string),
  patch: t.unknown,
  patch_by: t.unknown,
  files_of_context: t.number,
  memories: t.number,
  context: t.array(
    t.strict({ layer: t.string, source: t.string, title: t.string, why: t.string, score: t.number }),
  ),
  influences: t.array(
    t.strict({ kind: t.string, source: t.string, author: nullable(t.string), trusted: t.boolean }),
  ),
  checks: t.array(t.strict({ name: t.string, passed: t.boolean, detail: t.string })),
  target: t.partial({ branch: nullable(t.string), base_branch: t.string, base_commit: t.string }),
});
export type ShownPlan = t.TypeOf<typeof ShownPlan>;

export const ShownIssue = t.partial({
  title: t.string,
  author: t.string,
  association: t.string,
  html_url: nullable(t.string),
});

export const ShownRequest = t.partial({
  forge: t.string,
  owner: t.string,
  repo: t.string,
  number: nullable(t.number),
  role: t.string,
  planner: t.string,
  dry_run: t.boolean,
});

/** The value where it has this shape, else null. */
export function shapeOf<A>(codec: t.Type<A, unknown, unknown>, value: unknown): A | null {
  return codec.is(value) ? value : null;
}
