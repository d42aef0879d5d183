import { expect } from 'chai';
import { eventStates } from '#kit/contracts/bridge/events.ts';
import { measureHttp } from '#kit/http/metrics.ts';
import type { DatabaseOutcome, ObjectOutcome } from '#kit/measurements/store-calls.ts';
import { measureProcess, Registry } from '#kit/prometheus.ts';
import { createNotificationMetrics } from '../../services/agentd/notifications/compose.ts';
import { createBridgeMetrics } from '../../services/bridge/metrics.ts';
import type { Outcome } from '../../services/bridge/processing/attempt.ts';
import type { OutboxParts } from '../../services/bridge/sync/outbox.ts';
import { engineMetrics } from '../../services/bus-engine/serve.ts';
import { contextMetrics } from '../../services/context/hosts/metrics.ts';
import type { CallResult } from '../../services/model-gateway/ledger/settlement.ts';
import { createCallMetrics, type LaneState } from '../../services/model-gateway/metrics.ts';
import { readAlerts, readExpressions, readPanels, textOf } from '../fixtures/monitoring/monitoring.ts';
import { parseExpression } from '../fixtures/monitoring/promql.ts';

/** Prometheus adds the first two, and every service the third. */
const everywhere = ['job', 'instance', 'service'];

/** Of the labels `outcome` and `state`, by metric. */
const values: Readonly<Record<string, readonly string[]>> = {
  agentd_notifications: eventStates,
  bridge_events: eventStates,
  bridge_planning_attempts_total: [
    'done',
    'failed',
    'unreached',
    'skipped',
    'hopeless',
  ] satisfies Outcome['kind'][],
  bridge_deliveries_total: ['delivered', 'failed', 'dead'] satisfies Parameters<OutboxParts['observe']>[1][],
  database_connections: ['used', 'idle'],
  database_seconds_count: ['done', 'rolled_back', 'failed'] satisfies DatabaseOutcome[],
  objects_seconds_count: ['done', 'absent', 'refused', 'unavailable'] satisfies ObjectOutcome[],
  model_calls_total: ['done', 'aborted', 'failed'] satisfies CallResult['outcome'][],
  model_calls_under_way: ['running', 'waiting'] satisfies (keyof LaneState)[],
};

describe('the rules and the dashboard for Prometheus', () => {
  const labels = exportedLabels();
  const anchors = [...textOf('site/runbook.md').matchAll(/^## (.+)$/gm)].map(([, title]) => title!);

  for (const { of, expr } of readExpressions())
    it(`ask only for metrics and labels that a service exports: ${of}: ${expr.slice(0, 60)}`, () => {
      const { selectors, grouping } = parseExpression(expr);
      expect(selectors).to.not.have.length(0);
      const known = new Set<string>(everywhere);
      for (const { metric, matchers } of selectors) {
        const own = [...everywhere, ...(metric === 'up' ? [] : (labels.get(metric) ?? []))];
        expect(metric === 'up' || labels.has(metric), `${metric} is exported`).to.equal(true);
        for (const { label } of matchers) expect(own, `labels of ${metric}`).to.include(label);
        for (const label of own) known.add(label);
      }
      for (const label of grouping) expect([...known]).to.include(label);
    });

  it('compare with codes that are documented, and with outcomes and states that there are', () => {
    const documented = textOf('site/errors.md');
    for (const { expr } of readExpressions())
      for (const { metric, matchers } of parseExpression(expr).selectors)
        for (const { label, value } of matchers)
          for (const one of value.split('|')) {
            if (label === 'code' && !/^\d{3}$/.test(one)) expect(documented).to.contain(`| \`${one}\` |`);
            if (label === 'outcome' || label === 'state') expect(values[metric], metric).to.include(one);
          }
  });

  it('are refused where they ask for something else', () => {
    expect(() => parseExpression('sum by (service (rate(http_requests_total[5m]))')).to.throw('no PromQL at');
    const [wrong] = parseExpression('sum(rate(model_calls_total{outcomes="failed"}[5m]))').selectors;
    expect(labels.get('model_calls_total')).to.not.include(wrong!.matchers[0]!.label);
    expect(labels.has('model_call_total')).to.equal(false);
  });

  it('have for each alert a severity, a summary, and a section of the runbook; and no section without an alert', () => {
    const alerts = readAlerts();
    expect(alerts).to.have.length.above(15);
    for (const {
      alert,
      labels: { severity },
      annotations,
    } of alerts) {
      expect(['critical', 'warning'], alert).to.include(severity);
      expect(annotations.summary, alert).to.match(/\S/);
      expect(annotations.runbook_url).to.equal(
        `{{ $externalLabels.docs }}/runbook.html#${alert.toLowerCase()}`,
      );
    }
    expect(anchors.filter((title) => title.startsWith('Core'))).to.deep.equal(
      alerts.map(({ alert }) => alert),
    );
  });

  it('have panels that do not overlap, each with a description, that name alerts by their names', () => {
    const panels = readPanels();
    const alerts = new Set(readAlerts().map(({ alert }) => alert));
    expect(new Set(panels.map(({ id }) => id)).size).to.equal(panels.length);
    const taken = new Set<string>();
    for (const {
      title,
      type,
      description = '',
      gridPos: { x, y, w, h },
    } of panels) {
      expect(x + w, title).to.be.at.most(24);
      if (type !== 'row') expect(description, title).to.match(/\S/);
      for (const [name] of description.matchAll(/\bCore[A-Z]\w+/g)) expect([...alerts]).to.include(name);
      for (let column = x; column < x + w; column++)
        for (let line = y; line < y + h; line++) {
          expect(taken.has(`${column} ${line}`), title).to.equal(false);
          taken.add(`${column} ${line}`);
        }
    }
  });
});

/** Of each time series that services export: its labels. */
function exportedLabels(): Map<string, readonly string[]> {
  const registries = [
    createNotificationMetrics(async () => ({})),
    createBridgeMetrics(async () => ({}) as never).registry,
    createCallMetrics(() => []).registry,
    contextMetrics(null),
    engineMetrics({} as never),
    new Registry(),
  ];
  measureHttp('core-agentd', registries.at(-1)!);
  measureProcess(registries.at(-1)!);
  const labels = new Map<string, readonly string[]>();
  for (const metric of registries.flatMap((registry) => registry.getMetricsAsArray())) {
    const { name, type, labelNames } = metric as typeof metric & { readonly labelNames: readonly string[] };
    if (String(type) !== 'histogram') labels.set(name, labelNames);
    else {
      labels.set(`${name}_bucket`, [...labelNames, 'le']);
      for (const part of ['sum', 'count']) labels.set(`${name}_${part}`, labelNames);
    }
  }
  return labels;
}
