import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { decodeConcern, readConcernDocument } from '#kit/config/concern.ts';
import { checkApprovalPolicy } from '../../services/agentd/approval/check-policy.ts';
import { Policy } from '../../services/agentd/policy.ts';
import { checkOidc, OidcConfig } from '../../services/agentd/review/oidc/configuration.ts';

const page = readFileSync(new URL('../../site/guide-single-sign-on.md', import.meta.url), 'utf8');
const examples = [...page.matchAll(/```json\n([\s\S]*?)```/g)].map(([, text]) => JSON.parse(text!));
const binding = { host: '127.0.0.1', allowed_hosts: ['core.example.org'], behind_proxy: true, tls: null };

describe('the page about signing in by an identity provider', () => {
  it('has examples that are an oidc.json and a policy', () => {
    const [oidc, ...policies] = examples;
    expect(policies).to.have.length(2);
    const document = (name: string, user: unknown) => ({
      ...readConcernDocument(name, { config: '/nonexistent' }),
      user: { path: 'example', document: user },
    });
    expect(checkOidc(decodeConcern(OidcConfig, document('oidc', oidc)), binding)).to.not.equal(null);
    for (const policy of policies) checkApprovalPolicy(decodeConcern(Policy, document('policy', policy)));
  });

  it('names every member of oidc.json', () => {
    for (const member of Object.keys(OidcConfig.type.props)) expect(page, member).to.contain(`\`${member}\``);
  });
});
