import { join, resolve } from 'node:path';
import { type Command, InvalidArgumentError } from 'commander';
import type { Cell } from '#kit/cli/table.ts';
import { visibleLine } from '#kit/cli/terminal-text.ts';
import { counted } from '#kit/counted.ts';
import { makePrivateFolder, replaceFile } from '#kit/durable-file.ts';
import { codeOf, exitCodes, InvalidInput, messageOf } from '#kit/errors.ts';
import { shellWord } from '#kit/shell-word.ts';
import { readGivenFile } from '#kit/small-file.ts';
import type { SignedDecision } from '../../agent.ts';
import type { AttestationCheck } from '../../attestation/verify-attestation.ts';
import { answer, type CommandContext, type Run, type RunOption, runNamed, withRun } from '../command.ts';
import { table, wrapping } from '../layout.ts';
import { notEmpty } from '../option-values.ts';
import type { Terminal } from '../terminal.ts';

/** Commands that give others what they can check without Core. */

interface SignaturesOptions extends RunOption {
  readonly write?: string;
}

export function signatures(program: Command, run: Run): void {
  withRun(program.command('signatures'))
    .description('the signed decisions of a run, and how to check them without Core')
    .option('--write <folder>', 'put each text and its signature there', notEmpty('--write'))
    .action(
      run(async (context, id: string | undefined, options: SignaturesOptions) => {
        const { terminal, services } = context;
        const { write } = options;
        const found = await services.agent.signatures(await runNamed(context, id, options, 'signatures'));
        const folder = write === undefined ? null : resolve(write);
        if (folder !== null) writeSignatures(folder, found.decisions);
        const decisions = found.decisions.map((one) => ({
          ...one,
          command: verifyLine(one, found.signers_file, folder),
        }));
        return answer(context, { ...found, decisions }, () => signaturesView(decisions, folder, terminal));
      }),
    );
}

function fileOf({ seq, action_id, decision }: SignedDecision): string {
  return `${seq}-${action_id}-${decision}.txt`;
}

function writeSignatures(folder: string, decisions: readonly SignedDecision[]): void {
  makePrivateFolder(folder);
  for (const one of decisions) {
    const path = join(folder, fileOf(one));
    replaceFile(path, one.text);
    replaceFile(`${path}.sig`, one.signature);
  }
}

/** Checks one signature with OpenSSH alone, from 9.1 on: older versions read the time in the machine's zone, without the Z. */
function verifyLine(one: SignedDecision, signersFile: string, folder: string | null): string {
  const path = folder === null ? fileOf(one) : join(folder, fileOf(one));
  const time = `${one.signed_at.slice(0, 19).replaceAll(/[^0-9]/g, '')}Z`;
  const words = ['ssh-keygen', '-Y', 'verify', '-f', signersFile, '-I', one.principal, '-n', one.namespace];
  return `${[...words, '-s', `${path}.sig`, `-Overify-time=${time}`].map(shellWord).join(' ')} < ${shellWord(path)}`;
}

function signaturesView(
  decisions: readonly (SignedDecision & { readonly command: string })[],
  folder: string | null,
  terminal: Terminal,
): string {
  if (decisions.length === 0) return 'no decision of this run is signed\n';
  const rows = decisions.map(({ action_id, decision, approver, principal, signed_at }): Cell[] => {
    const what = `${decision === 'approve' ? 'approved' : 'rejected'} by ${approver}, signed by ${principal} at ${signed_at}`;
    return [action_id, what];
  });
  const lines = table(['', wrapping], rows, terminal);
  if (folder === null)
    return `${[...lines, '', '  --write FOLDER puts texts and signatures into files, and prints what checks them'].join('\n')}\n`;
  const head = `${counted(decisions.length, 'text')} with signatures in ${visibleLine(folder)}; each is checked by`;
  return `${[...lines, '', head, '', ...decisions.map(({ command }) => visibleLine(command))].join('\n')}\n`;
}

interface AttestOptions extends RunOption {
  readonly at?: number;
  readonly key?: string;
  readonly unsigned?: boolean;
  readonly verify?: string;
  readonly allowedSigners?: string;
}

export function attest(program: Command, run: Run): void {
  withRun(program.command('attest'))
    .description('an in-toto statement of what was planned, approved, validated and published, signed')
    .option('--at <event>', 'as the record said with this event (default: the newest)', eventNumber)
    .option(
      '--key <file>',
      "the key that signs it: a file, or a public key of your ssh-agent (default: signing.key, else git's user.signingkey)",
      notEmpty('--key'),
    )
    .option('--unsigned', 'without a signature')
    .option('--verify <file>', 'check an attestation instead', notEmpty('--verify'))
    .option(
      '--allowed-signers <file>',
      'with --verify: the keys (default: those of the configuration)',
      notEmpty('--allowed-signers'),
    )
    .action(
      run(async (context, id: string | undefined, options: AttestOptions) => {
        if (options.verify !== undefined) return verifyFile(context, options.verify, options.allowedSigners);
        const { services, terminal } = context;
        const name = await runNamed(context, id, options, 'attest');
        const statement = await services.agent.statement(name, options.at);
        const key = options.unsigned === true ? null : await services.signingKey(options.key);
        const { envelopeOf } = await import('../../attestation/envelope.ts');
        terminal.out(`${JSON.stringify(envelopeOf(statement, key))}\n`);
        return exitCodes.done;
      }),
    );
}

function eventNumber(text: string): number {
  if (/^[1-9]\d{0,9}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be the number of an event.');
}

async function verifyFile(context: CommandContext, file: string, signers?: string): Promise<number> {
  const found = await context.services.agent.verifyAttestation(readText(file), signers);
  const exitCode = found.problems.length === 0 ? exitCodes.done : exitCodes.failed;
  return answer(context, found, () => checkView(found, context.terminal), exitCode);
}

function readText(file: string): string {
  try {
    return readGivenFile(file);
  } catch (cause) {
    const why = codeOf(cause) === 'ENOENT' ? 'there is no such file' : messageOf(cause);
    throw new InvalidInput('file_unreadable', `--verify ${file}: ${why}`, { cause });
  }
}

function checkView(found: AttestationCheck, { paint, symbols, ...terminal }: Terminal): string {
  const { run_id, digest, as_of, commit, signed_by, approvals, record, problems } = found;
  const holds = problems.length === 0;
  const signed = approvals.filter(({ principal }) => principal !== null).length;
  const rows: Cell[][] = [
    ['run', `${run_id}, as of event ${as_of}`],
    ['commit', commit],
    ['sha256', digest],
    [
      'signed by',
      signed_by.map(({ key, principals }) => [...principals, key].join(' ')).join('; ') || 'nobody',
    ],
    ['approvals', `${approvals.length}, of which ${signed} are signed`],
    ['record', record],
    ...problems.map((what): Cell[] => [{ text: 'problem', paint: paint.yellow }, what]),
  ];
  const mark = holds ? paint.green(symbols.tick) : paint.red(symbols.cross);
  const head = `${mark}  the attestation ${holds ? 'holds' : 'does not hold'}`;
  return `${[head, ...table(['', wrapping], rows, { paint, symbols, ...terminal })].join('\n')}\n`;
}
