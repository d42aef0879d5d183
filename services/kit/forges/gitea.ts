import type { ForgeTraits } from './forge-traits.ts';

/** docs.gitea.com/usage/webhooks; the actions are those of Gitea's `HookIssueAction`. Forgejo's are the same. */
export const gitea = {
  default_url: null,
  default_root: null,
  webhooks: {
    eventHeader: 'x-gitea-event',
    deliveryHeader: 'x-gitea-delivery',
    signatureHeader: 'x-gitea-signature',
    signaturePrefix: '',
    contentTypeSetting: 'POST Content Type: application/json',
    actions: [
      'opened',
      'edited',
      'reopened',
      'label_updated',
      'label_cleared',
      'closed',
      'assigned',
      'unassigned',
      'milestoned',
      'demilestoned',
      'pinned',
      'unpinned',
      'deleted',
    ],
    kinds: {
      opened: 'issue.created',
      edited: 'issue.updated',
      reopened: 'issue.status_changed',
      label_updated: 'issue.updated',
      label_cleared: 'issue.updated',
      assigned: 'issue.updated',
      closed: 'issue.status_changed',
    },
    labelAction: (_, now) => (now.length > 0 ? 'label_updated' : 'label_cleared'),
  },
} satisfies ForgeTraits;
