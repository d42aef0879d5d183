import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { decodeConcern, readConcernDocument } from '#kit/config/concern.ts';
import { checkApprovalPolicy } from '../../services/agentd/approval/check-policy.ts';
import { Policy } from '../../services/agentd/policy.ts';

const page = readFileSync(new URL('../../site/guide-who-must-agree.md', import.meta.url), 'utf8');
const examples = [...page.matchAll(/```json\n([\s\S]*?)```/g)].map(([, text]) => JSON.parse(text!));

describe('the page about who must agree', () => {
  it('has examples that are a policy', () => {
    expect(examples).to.have.length(2);
    for (const example of examples) {
      const files = readConcernDocument('policy', { config: '/nonexistent' });
      const document = { ...files, user: { path: 'example', document: example } };
      const [standing] = example.approval.standing ?? [];
      const now = standing === undefined ? Date.now() : Date.parse(standing.expires_at) - 30 * 86_400_000;
      checkApprovalPolicy(decodeConcern(Policy, document), now);
    }
  });

  it('names every condition, request and member that the codecs have', () => {
    const { rules, standing } = Policy.type.props.approval.type.props;
    const members = [rules, standing].flatMap(({ type }) => Object.keys(type.type.props));
    for (const member of members) expect(page, member).to.contain(`\`${member}\``);
  });
});
