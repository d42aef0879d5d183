import type { Display } from '#kit/cli/display.ts';
import { type Cell, tableLines } from '#kit/cli/table.ts';
import { environment } from '#kit/environment.ts';
import { exitCodes } from '#kit/errors.ts';
import { type Folders, resolveFolders } from '#kit/folders.ts';
import { createProgress, entries, type Progress } from './backup/progress.ts';
import { checkBucket } from './health-checks/bucket.ts';
import { checkBus, checkEnginePorts, checkSchedules, checkWebhookSecrets } from './health-checks/bus.ts';
import { checkCypher } from './health-checks/cypher.ts';
import { checkElsewhere } from './health-checks/elsewhere.ts';
import {
  checkDaemonPort,
  checkFolder,
  checkModels,
  checkServicePort,
  checkSettings,
  checkTokens,
  type Finding,
} from './health-checks/installation.ts';
import { checkNotifications } from './health-checks/notifications.ts';
import {
  checkControlGroups,
  checkDocker,
  checkGit,
  checkJj,
  checkNode,
  checkSandbox,
  checkToolPaths,
} from './health-checks/programs.ts';
import { checkAgents, checkConfiguration, checkForges } from './health-checks/services.ts';

export type { Finding } from './health-checks/installation.ts';

export interface DoctorOptions {
  readonly home?: string | undefined;
  readonly json?: boolean;
  readonly color?: boolean;
  readonly display: Display;
  /** A text of Core with its own names as they are here. */
  readonly named?: (text: string) => string;
  readonly stdout?: NodeJS.WritableStream;
  readonly stderr?: NodeJS.WriteStream;
}

/** `core doctor`: what works here, what does not, and the fix. Exit code 1 when Core cannot do its work. */
export async function doctor(options: DoctorOptions): Promise<number> {
  const {
    stdout = process.stdout,
    stderr = process.stderr,
    json = false,
    color = false,
    display,
    named = (text: string) => text,
  } = options;
  const folders = resolveFolders({ home: options.home }, environment);
  const checks = [...checksOf(folders), checkConfiguration(folders)];
  const findings = await withProgress(checks, createProgress(stderr, entries));
  const ok = findings.every(({ state }) => state !== 'broken');
  stdout.write(
    json ? `${JSON.stringify({ ok, findings })}\n` : await table(findings, { color, display, named }),
  );
  return ok ? exitCodes.done : exitCodes.failed;
}

/** Counts the checks that ended on a bar while others run; on a terminal only. */
async function withProgress(checks: readonly Check[], progress: Progress): Promise<Finding[]> {
  progress.begin('checks', checks.length);
  try {
    const found = checks.map(async (check) => {
      const findings = await check;
      progress.add(1);
      return findings;
    });
    return (await Promise.all(found)).flat();
  } finally {
    progress.end();
  }
}

export async function examine(folders: Folders): Promise<Finding[]> {
  return (await Promise.all(checksOf(folders))).flat();
}

type Check = Finding | Finding[] | Promise<Finding | Finding[]>;

/** All checks, running at the same time. */
function checksOf(folders: Folders): Check[] {
  const { finding, settings } = checkSettings(folders);
  return [
    checkNode(),
    checkGit(),
    checkJj(),
    checkSandbox(),
    checkToolPaths(folders),
    checkControlGroups(),
    checkDocker(),
    checkFolder('state folder', folders.state, 'state'),
    checkFolder('configuration folder', folders.config, 'config'),
    finding,
    checkTokens(folders),
    checkBucket(folders),
    ...(settings === null
      ? []
      : [
          checkDaemonPort(folders, settings),
          checkServicePort('core-context', 'context', folders),
          checkServicePort('core-model-gateway', 'models', folders),
          checkServicePort('core-bridge', 'bridge', folders),
          checkEnginePorts(folders),
          checkElsewhere(folders),
        ]),
    checkCypher(folders),
    checkModels(folders),
    checkBus(folders),
    checkSchedules(folders),
    checkWebhookSecrets(folders),
    checkNotifications(folders),
    checkForges(folders),
    checkAgents(folders),
  ];
}

async function table(
  findings: readonly Finding[],
  { color, display, named }: Required<Pick<DoctorOptions, 'color' | 'display' | 'named'>>,
): Promise<string> {
  const { createColors } = (await import('picocolors')).default;
  const paint = createColors(color);
  const words = {
    works: { text: 'ok', paint: paint.green },
    warning: { text: 'warning', paint: paint.yellow },
    missing: { text: 'absent', paint: paint.dim },
    broken: { text: 'broken', paint: paint.red },
  };
  const rows = findings.flatMap(({ name, state, detail, fix }): Cell[][] => [
    [words[state], name, oneLine(named(detail))],
    ...(fix === null ? [] : [['', '', { text: `do  ${oneLine(named(fix))}`, paint: paint.dim }]]),
  ]);
  const columns = ['', '', { title: '', gives: { turn: 1, to: 24 }, excess: 'wrap' }] as const;
  return `${tableLines(columns, rows, display).join('\n')}\n`;
}

/** Words of other programs must not steer the terminal. */
function oneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}]+/gu, ' ');
}
