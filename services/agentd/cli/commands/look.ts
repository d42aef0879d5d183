import * as t from 'io-ts';
import type { SettingRow } from '#kit/config/settings.ts';
import { decodeJson } from '#kit/decode.ts';
import { environment } from '#kit/environment.ts';
import { codeOf, exitCodes, InvalidInput, NotFound } from '#kit/errors.ts';
import { resolveFolders } from '#kit/folders.ts';
import type { Agent } from '../../agent.ts';
import { actionView as actionJson, runView as runJson } from '../../http/run-view.ts';
import type { Run } from '../../runs/run.ts';
import type { CommandContext } from '../command-context.ts';
import { failedStep } from '../failed-validation.ts';
import { writeJson } from '../json-output.ts';
import { actionNamed } from '../selection.ts';
import { actionDetails, actionsView } from '../views/actions-view.ts';
import { type ConversationPart, conversationView } from '../views/conversation-view.ts';
import { diffView } from '../views/diff-view.ts';
import { recoveryView, settingsView, verificationView } from '../views/reports.ts';
import { runView } from '../views/run-view.ts';

/** Commands that look at one run, or at the settings. */

export async function show(
  context: CommandContext,
  id: string,
  options: { readonly recovery?: boolean; readonly prompt?: boolean },
): Promise<number> {
  const { terminal, suggestions, verbose } = context;
  const agent = await context.services.agent();
  const whole = options.recovery !== true && options.prompt !== true;
  const run = await (whole ? agent.runWithBase(id) : agent.run(id));
  if (options.recovery === true) {
    const manifest = await agent.recovery(run.run_id);
    if (context.json) writeJson(terminal, manifest);
    else terminal.out(recoveryView(manifest, terminal));
    return exitCodes.done;
  }
  if (options.prompt === true) {
    const parts = await conversationOf(agent, run);
    if (context.json) writeJson(terminal, { run_id: run.run_id, conversation: parts });
    else terminal.out(conversationView(parts, terminal));
    return exitCodes.done;
  }
  if (context.json) writeJson(terminal, runJson(run));
  else {
    terminal.out(
      runView(run, terminal, suggestions, {
        verbose,
        context: true,
        failed: await failedStep(context, run),
        deleted: await deletedContents(agent, run),
      }),
    );
  }
  return exitCodes.done;
}

/** @throws NotFound (`no_prompt`) where no model was asked */
async function conversationOf(agent: Agent, run: Run): Promise<ConversationPart[]> {
  if (run.prompt === null) {
    throw new NotFound(
      'no_prompt',
      `run ${run.run_id} asked no model; its planner is '${run.request.planner}'`,
    );
  }
  return Promise.all(
    contentDigests(run).map(async (digest) => {
      const bytes = await agent.artifact(run.run_id, digest).catch((error) => {
        if (codeOf(error) === 'artifact_not_found') return null;
        throw error;
      });
      if (bytes === null) return { digest, messages: null };
      const { messages } = decodeJson(
        StoredMessages,
        Buffer.from(bytes).toString('utf8'),
        `artifact ${digest}`,
      );
      return { digest, messages };
    }),
  );
}

/** How many of prompt and turns are gone; one that was changed is there. */
async function deletedContents(agent: Agent, run: Run): Promise<number> {
  const read = contentDigests(run).map((digest) => agent.artifact(run.run_id, digest));
  const failed = (await Promise.allSettled(read)).filter(({ status }) => status === 'rejected');
  return failed.filter((one) => codeOf((one as PromiseRejectedResult).reason) === 'artifact_not_found')
    .length;
}

/** Of the prompt and every turn. */
function contentDigests({ prompt, turns }: Run): string[] {
  return prompt === null ? [] : [prompt, ...turns.map(({ content }) => content)];
}

const StoredMessages = t.strict({ messages: t.array(t.UnknownRecord) });

/** All actions in a table, or the named ones in full. */
export async function actions(
  context: CommandContext,
  id: string,
  names: readonly string[],
): Promise<number> {
  const { terminal, suggestions } = context;
  const agent = await context.services.agent();
  const run = await agent.run(id);
  const chosen = names.length === 0 ? run.actions : names.map((name) => actionNamed(run, name));
  if (context.json)
    writeJson(terminal, { run_id: run.run_id, status: run.status, actions: chosen.map(actionJson) });
  else if (names.length === 0) terminal.out(actionsView(run, terminal, suggestions));
  else {
    const failed = await failedStep(context, run);
    terminal.out(actionDetails(chosen, terminal, failed));
  }
  return exitCodes.done;
}

export async function diff(
  context: CommandContext,
  id: string,
  options: { readonly raw?: boolean },
): Promise<number> {
  const { terminal, suggestions } = context;
  if (options.raw === true && terminal.outIsTerminal) {
    throw new InvalidInput(
      'raw_on_terminal',
      '--raw writes the bytes of the patch as they are, which a terminal could obey; send them to a file or a pipe',
    );
  }
  const agent = await context.services.agent();
  const run = await agent.run(id);
  const patch = await agent.diff(run.run_id);
  if (context.json)
    writeJson(terminal, {
      run_id: run.run_id,
      patch: Buffer.from(patch).toString('base64'),
      encoding: 'base64',
    });
  else if (options.raw === true) terminal.out(patch);
  else terminal.out(diffView(run, patch, terminal, suggestions));
  return exitCodes.done;
}

export async function verify(context: CommandContext, id: string): Promise<number> {
  const agent = await context.services.agent();
  const found = await agent.verify(id);
  if (context.json) writeJson(context.terminal, found);
  else context.terminal.out(verificationView(found, context.terminal));
  return found.problems.length === 0 ? exitCodes.done : exitCodes.failed;
}

export async function configShow(context: CommandContext): Promise<number> {
  const { state, config, origin } = resolveFolders({ home: context.suggestions.home }, environment);
  const rows: SettingRow[] = [
    folderRow('folder.state', state, origin.state),
    folderRow('folder.config', config, origin.config),
    ...(await context.services.settings()),
  ];
  if (context.json) writeJson(context.terminal, rows);
  else context.terminal.out(settingsView(rows, context.terminal));
  return exitCodes.done;
}

function folderRow(key: string, value: string, origin: string): SettingRow {
  const source = origin === 'default' ? 'default' : origin.startsWith('--') ? 'flag' : 'environment';
  return { key, value, source, where: origin === 'default' ? 'XDG base directories' : origin };
}
