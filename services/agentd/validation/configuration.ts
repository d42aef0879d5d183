import * as t from 'io-ts';
import { integerBetween, NonEmptyString, nullable, oneOf, optional, stringThat } from '#kit/decode.ts';
import { repositoryNamed, repositoryRule } from '#kit/repository-name.ts';
import type { ValidationPlan } from '../action.ts';
import { sandboxKinds } from '../ports/sandbox.ts';
import { plannedCover, plannedGaps } from './coverage.ts';
import type { Files, WithoutTests } from './ecosystems/project.ts';
import { fileKinds } from './file-kinds.ts';
import { narrowedBy } from './line-scope.ts';

const Path = stringThat(
  'Path',
  "a path below the repository, without '.', '..' and .git, for example node_modules",
  (text) =>
    text !== '' &&
    text.split('/').every((part) => !['', '.', '..'].includes(part) && part.toLowerCase() !== '.git') &&
    // Control characters and the separator of other systems have no place in what people approve by reading.
    !/[\0-\x1f\x7f\\]/.test(text),
);

const Host = stringThat('Host', 'a host, for example git.example.org or git.example.org:8443', (text) =>
  /^[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?(?::\d{1,5})?$/.test(text),
);

const Command = t.strict({
  /** Short, for people: `test`. */
  name: NonEmptyString,
  /** A line for `sh -c`. */
  run: NonEmptyString,
});

const TestCommand = t.strict({
  ...Command.type.props,
  /** Which files it tests; all of the repository where it does not say. */
  covers: optional(
    t.array(
      t.strict({
        /** A folder of the repository, the whole of it by default. */
        folder: optional(Path),
        /** Folders below that. */
        except: optional(t.array(Path)),
        files: t.array(oneOf(fileKinds)),
      }),
    ),
  ),
});

const Commands = t.refinement(t.array(Command), haveOwnNames, 'a list of commands, each with its own name');

const SomeCommands = t.refinement(
  t.array(TestCommand),
  (commands) => commands.length > 0 && haveOwnNames(commands),
  'a list of at least one command, each with its own name',
);

function haveOwnNames(commands: readonly { readonly name: string }[]): boolean {
  return new Set(commands.map(({ name }) => name)).size === commands.length;
}

const Limits = {
  /** For all commands of a phase together. */
  seconds: integerBetween(1, 21_600),
  /** For all processes together. */
  memory_mib: integerBetween(16, 1_048_576),
  /** At once. */
  processes: integerBetween(4, 65_536),
  /** For what they write to the workspace, and for a single file. */
  disk_mib: integerBetween(16, 16_777_216),
  /** What is kept of their output. */
  output_bytes: integerBetween(1024, 268_435_456),
};

/** How one repository is validated. */
export const ValidationSettings = t.strict({
  /** Run once for the content of the lockfiles, at the base commit. */
  prepare: optional(Commands),
  /** Run on the approved tree, without network. */
  commands: SomeCommands,
  /** What preparing makes, seen read-only by the commands. */
  prepared_paths: optional(t.array(Path)),
  /** Whose content decides whether to prepare again. */
  lockfiles: optional(t.array(Path)),
  /** True if preparing may use the network; default that of the file. */
  prepare_network: optional(t.boolean),
  /** In place of those of the file. */
  limits: optional(
    t.strict({
      seconds: optional(Limits.seconds),
      memory_mib: optional(Limits.memory_mib),
      processes: optional(Limits.processes),
      disk_mib: optional(Limits.disk_mib),
      output_bytes: optional(Limits.output_bytes),
    }),
  ),
});
export type ValidationSettings = t.TypeOf<typeof ValidationSettings>;

/** `config/validation.json`. */
export const ValidationConfig = t.strict({
  /** For every repository that `repositories` does not name; null leaves it to the repository itself. */
  default: nullable(ValidationSettings),
  /** By `owner/repo`, in any case. */
  repositories: t.record(
    stringThat('owner/repo', repositoryRule, (text) => repositoryNamed(text) !== null),
    ValidationSettings,
  ),
  /** For plans that set none; those of a repository's own file can lower them alone. */
  limits: t.strict(Limits),
  /** auto: bubblewrap, else unshare where the policy allows a weak sandbox; whichever works. */
  sandbox: oneOf(['auto', ...sandboxKinds]),
  /** True if validations may run as you where no sandbox works. */
  allow_unsandboxed: t.boolean,
  /** True if preparing may use the network where a plan does not say. */
  prepare_network: t.boolean,
  /** True if the commands see the files of submodules that the forge has. */
  submodules: t.boolean,
  /** True if the commands see the files that Git LFS keeps. */
  lfs: t.boolean,
  /** Other hosts that LFS servers and submodules may be on, by https and without credentials. */
  fetch_hosts: t.array(Host),
  /** For all submodules, and all objects of Git LFS, of a commit together. */
  fetch_limits: t.strict({
    submodules_mib: integerBetween(1, 1_048_576),
    lfs_mib: integerBetween(1, 1_048_576),
    lfs_objects: integerBetween(1, 10_000),
  }),
  /** Variables for commands with network, for example a proxy or a package registry. */
  prepare_environment: t.record(t.string, t.string),
  /** Folders of tools outside the system's, seen read-only at the same path; `~/` is home. */
  tool_paths: t.array(NonEmptyString),
});
export type ValidationConfig = t.TypeOf<typeof ValidationConfig>;

/** `.core.json` of a repository; other members are not read here. */
export const RepositoryFile = t.type({ validation: optional(ValidationSettings) });

type Limits = ValidationConfig['limits'];

/** A plan from configured settings, what they leave out filled from the defaults. */
export async function planFromSettings(
  settings: ValidationSettings,
  from: Pick<ValidationPlan, 'source' | 'found'>,
  config: ValidationConfig,
  files: Files,
): Promise<ValidationPlan> {
  const prepare = settings.prepare ?? [];
  const trusted = from.source === 'configuration';
  const network = settings.prepare_network ?? config.prepare_network;
  return {
    ...from,
    prepare,
    // What a repository says about itself can narrow what the configuration allows, never widen it.
    prepare_network: prepare.length > 0 && network && (trusted || config.prepare_network),
    prepared_paths: settings.prepared_paths ?? [],
    lockfiles: settings.lockfiles ?? [],
    commands: settings.commands.map(({ name, run }) => ({ name, run })),
    ...(await coverageOf(settings, files)),
    programs: undefined,
    submodules: undefined,
    lfs: undefined,
    limits: limitsOf(settings.limits ?? {}, config.limits, trusted),
  };
}

/**
 * A command that does not say what it covers counts for the whole repository, so that there is no list, unless it is a call of a
 * known runner whose arguments say that it tests less.
 */
async function coverageOf(
  { commands }: ValidationSettings,
  files: Files,
): Promise<Pick<ValidationPlan, 'covers' | 'without_tests'>> {
  const covers: NonNullable<ValidationPlan['covers']> = [];
  const without_tests: WithoutTests[] = [];
  for (const command of commands) {
    const narrowed = command.covers === undefined ? await narrowedBy(files, command.run, '') : null;
    const own = command.covers ?? narrowed?.covers;
    if (own === undefined) return { covers: undefined, without_tests: undefined };
    for (const { folder = '', except = [], files: kinds } of own)
      covers.push(plannedCover(command.name, { folder, except, files: kinds }));
    without_tests.push(...(narrowed?.without_tests ?? []));
  }
  return { covers, without_tests: plannedGaps(without_tests) };
}

function limitsOf(
  own: Partial<Record<keyof Limits, number | undefined>>,
  configured: Limits,
  trusted: boolean,
): Limits {
  const limits = { ...configured };
  for (const name of Object.keys(configured) as (keyof Limits)[]) {
    const value = own[name] ?? configured[name];
    limits[name] = trusted ? value : Math.min(value, configured[name]);
  }
  return limits;
}
