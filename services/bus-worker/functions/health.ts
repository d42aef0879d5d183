import type { BusFunction } from '#kit/bus/bus.ts';
import { functionIds } from '#kit/contracts/bus/function-ids.ts';
import { EmptyRequest, HealthResult } from '#kit/contracts/bus/functions.ts';
import { Health, type HealthCheck } from '#kit/contracts/health.ts';
import { codeOf, messageOf } from '#kit/errors.ts';
import { Probe, type Question } from '#kit/health/probe.ts';
import { takesToken } from '#kit/health/takes-token.ts';
import { asking, type Services, workerFunction } from './worker-function.ts';

/** Nobody is asked behind the bridge: its own health asks for this. */
export function health({ agentd, context, bridge, answerMs }: Services): BusFunction {
  const probe = (ask: Question) => new Probe(ask, { timeoutMs: answerMs });
  const probes = {
    agentd: probe((signal) => takesToken(agentd.now(), ['read', 'plan'], signal)),
    context: probe((signal) => contextReached(context, signal)),
    bridge: probe((signal) => takesToken(bridge.now(), ['read'], signal)),
  };

  async function reaches(): Promise<Record<string, HealthCheck>> {
    const found = Object.entries(probes).map(async ([name, probe]) => [name, await probe.check()] as const);
    return Object.fromEntries(await Promise.all(found));
  }

  return workerFunction({
    id: functionIds.health,
    description:
      'Checks the health of the agent daemon, and whether the worker reaches the services that it asks',
    request: EmptyRequest,
    response: HealthResult,
    async work(_request, call) {
      const [agent, reached] = await Promise.all([
        agentd.now().get('/healthz', Health, asking(call)),
        reaches(),
      ]);
      return { ok: true as const, ...agent, reaches: reached };
    },
  });
}

/** An installation may do without it. */
async function contextReached(context: Services['context'], signal: AbortSignal): Promise<string> {
  try {
    return await takesToken(context.now(), ['read'], signal);
  } catch (error) {
    if (codeOf(error) === 'context_not_configured') return messageOf(error);
    throw error;
  }
}
