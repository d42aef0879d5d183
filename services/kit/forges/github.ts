import type { ForgeTraits } from './forge-traits.ts';

/** docs.github.com/webhooks/webhook-events-and-payloads, of which `issues` and the delivery headers are used. */
export const github = {
  default_url: 'https://github.com',
  default_root: null,
  webhooks: {
    eventHeader: 'x-github-event',
    deliveryHeader: 'x-github-delivery',
    signatureHeader: 'x-hub-signature-256',
    signaturePrefix: 'sha256=',
    actions: [
      'opened',
      'edited',
      'reopened',
      'labeled',
      'unlabeled',
      'closed',
      'assigned',
      'unassigned',
      'milestoned',
      'demilestoned',
      'typed',
      'untyped',
      'pinned',
      'unpinned',
      'locked',
      'unlocked',
      'transferred',
      'deleted',
    ],
    kinds: {
      opened: 'issue.created',
      edited: 'issue.updated',
      reopened: 'issue.status_changed',
      labeled: 'issue.updated',
      unlabeled: 'issue.updated',
      assigned: 'issue.updated',
      closed: 'issue.status_changed',
      transferred: 'issue.updated',
    },
    labelAction: (before, now) => (now.some((label) => !before.includes(label)) ? 'labeled' : 'unlabeled'),
  },
} satisfies ForgeTraits;
