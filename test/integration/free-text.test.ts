import { expect } from 'chai';
import type { Argument, Command, Option } from 'commander';
import type * as t from 'io-ts';
import { repositoryTools } from '../../services/agentd/mcp/context-tools.ts';
import { coreTools } from '../../services/agentd/mcp/core-tools.ts';
import { CoreCommand } from '../../services/kit/cli/core-command.ts';
import { leafSchemas } from '../../services/kit/decode.ts';
import type { Structure } from '../../services/kit/json-schema.ts';
import { secretRuling } from '../../services/kit/redaction/masked-text.ts';
import { programs } from '../../site/generate/commands/programs.ts';
import { absent } from '../../site/generate/endpoints/absent.ts';
import { services } from '../../site/generate/endpoints/services.ts';
import { secretSamples } from '../fixtures/redaction/secret-samples.ts';

const token = secretSamples.github_token![0] as string;

/** Every command of every program, with what people type to call it. */
async function allCommands(): Promise<(readonly [call: string, command: Command])[]> {
  const within = (command: Command, call: string): [string, Command][] => [
    [call, command],
    ...command.commands.flatMap((inner) => within(inner, `${call} ${inner.name()}`)),
  ];
  const loaded = await Promise.all(programs.map(async ({ load, call }) => within(await load(), call)));
  return loaded.flat();
}

describe('What people write in options and arguments', () => {
  it('is masked when it is parsed, in every command', async () => {
    const masked = new Set<string>();
    for (const [call, command] of await allCommands()) {
      // Its constructor demands that each value is declared as free text or as exact.
      expect(command, call).to.be.instanceOf(CoreCommand);
      const values: (Option | Argument)[] = [...command.options, ...command.registeredArguments];
      for (const value of values) {
        const name = 'flags' in value ? value.flags : `<${value.name()}>`;
        if (!/<(?:text|words)>/.test(name)) continue;
        const parse = value.parseArg as (text: string, before: unknown) => unknown;
        expect([parse(token, undefined)].flat(), `${call} ${name}`).to.deep.equal([
          '[redacted github_token]',
        ]);
        masked.add(`${call} ${name}`);
      }
    }
    expect([...masked]).to.include.members([
      './core reject --reason <text>',
      './core forge issue new --title <text>',
      './core context remember <text>',
      './core context remember --step <text>',
      './core context forget --reason <text>',
      './core context lookup <words>',
    ]);
  });
});

/** Texts that are used exactly: each has a form of its own, a language, or is only compared. */
const exactTexts: ReadonlySet<string> = new Set([
  ...['Timestamp', 'UtcTimestamp', 'Sha256', 'SshSignature', 'Id', 'KeyId', 'Layer', 'AbsolutePath'],
  ...['RunName', 'PlannerName', 'RepositoryName', 'ForgeName', 'OwnerName', 'RepoName'],
  ...['CypherText', 'ComparedText'],
]);

interface Text {
  readonly place: string;
  readonly codec: t.Mixed;
}

/** The texts in what a codec accepts, those of a fixed list of words left out. */
function textsOf(codec: t.Mixed, place: string): Text[] {
  if (secretRuling(codec) !== null || exactTexts.has(codec.name)) return [{ place, codec }];
  const leaf = leafSchemas.get(codec) as { readonly type?: string; readonly enum?: unknown } | undefined;
  const { _tag: tag, props = {}, type, types = [], codomain } = codec as Structure;
  const inside = [
    ...Object.entries(props).map(([name, member]) => [`${place}.${name}`, member] as const),
    ...types.map((one) => [place, one] as const),
    ...[type, codomain].flatMap((one) => (one === undefined ? [] : [[place, one] as const])),
  ];
  if (tag === 'InterfaceType' || inside.length > 0)
    return inside.flatMap(([at, member]) => textsOf(member, at));
  if (leaf?.enum !== undefined || ['integer', 'number', 'boolean'].includes(leaf?.type ?? '')) return [];
  const others = [
    'NumberType',
    'BooleanType',
    'NullType',
    'UndefinedType',
    'LiteralType',
    'AnyDictionaryType',
  ];
  return others.includes(tag ?? '') ? [] : [{ place, codec }];
}

function requireDeclared(texts: readonly Text[]): void {
  const open = texts.filter(({ codec }) => secretRuling(codec) === null && !exactTexts.has(codec.name));
  expect(
    open.map(({ place, codec }) => `${place}: ${codec.name}`),
    'textMasked or withoutSecrets is missing, or a codec of its form',
  ).to.deep.equal([]);
}

function placesOf(texts: readonly Text[], ruling: 'masked' | 'refused'): string[] {
  return texts.filter(({ codec }) => secretRuling(codec) === ruling).map(({ place }) => place);
}

describe('What people write in requests', () => {
  it('is masked or refused when it is decoded, in every body and form', () => {
    const texts = services.flatMap(({ routes }) =>
      routes().flatMap(({ method, path, body }) =>
        body.kind === 'json' || body.kind === 'form' ? textsOf(body.codec, `${method} ${path}`) : [],
      ),
    );
    requireDeclared(texts);
    expect(placesOf(texts, 'masked')).to.include.members([
      'POST /v1/runs/{run_id}/actions/{action_id}/approval.reason',
      'POST /v1/runs/{run_id}/cancel.reason',
      'POST /v1/memory/record.content',
      'POST /v1/memory/record.steps',
      'POST /v1/memory/forget.reason',
      'POST /v1/graphrag/search.query',
      'POST /runs/{run_id}/decisions.reason',
      'POST /runs/{run_id}/cancel.reason',
      'POST /batch.reason',
    ]);
    expect(placesOf(texts, 'refused')).to.include.members([
      'POST /v1/runs.owner',
      'POST /v1/runs.task',
      'POST /v1/runs.note',
      'POST /plan.task',
      'POST /runs/{run_id}/plan.note',
      'POST /v1/memory/record.key',
    ]);
  });

  it('is masked or refused when it is decoded, in every argument of a tool', () => {
    const asked = { search: absent, lookup: absent };
    const tools = {
      ...coreTools({ by: absent, context: absent, list: absent, show: absent, diff: absent, plan: absent }),
      ...repositoryTools({ ...asked, repository: 'demo/hello', onRead: absent }),
    };
    const texts = Object.entries(tools).flatMap(([name, { codec }]) => textsOf(codec, name));
    requireDeclared(texts);
    expect(placesOf(texts, 'refused')).to.include.members(['plan_issue.task', 'plan_issue.note']);
    expect(placesOf(texts, 'masked')).to.include.members([
      'remember.content',
      'search.query',
      'memory_lookup.query',
    ]);
  });
});
