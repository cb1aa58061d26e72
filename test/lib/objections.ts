import { Aspects } from 'aws-cdk-lib/core'
import { AwsSolutionsChecks, ServerlessChecks } from 'cdk-nag'
import * as nag2 from 'cdk-nag-2'
import type { Synthesised } from './synthesised.ts'

const checks = { AwsSolutions: AwsSolutionsChecks, Serverless: ServerlessChecks }
export const packs = Object.keys(checks) as (keyof typeof checks)[]

/** Rule and place of what a pack of cdk-nag objects to, and nobody has acknowledged. */
export function objections(
  { app, stack }: Pick<Synthesised, 'app' | 'stack'>,
  pack: keyof typeof checks,
): string[] {
  const { violations } = new checks[pack](app).validateScope(stack)
  return violations.flatMap(({ ruleName, violatingResources }) =>
    violatingResources.map(({ constructPath }) => `${ruleName} at ${constructPath}`),
  )
}

/** The same of cdk-nag 2, which is an aspect and reports errors of the stack. */
export function objectionsOfNag2({ app, stack }: Pick<Synthesised, 'app' | 'stack'>): string[] {
  for (const Pack of [nag2.AwsSolutionsChecks, nag2.ServerlessChecks]) {
    Aspects.of(app).add(new Pack())
  }
  try {
    // Once more, where somebody has already looked at the template: these aspects are new.
    app.synth({ force: true })
  } catch {
    // The CDK throws where there are errors; they are read below.
  }
  return stack.node
    .findAll()
    .flatMap(({ node }) => node.metadata.map((entry) => ({ ...entry, path: node.path })))
    .filter(({ type }) => type === 'aws:cdk:error')
    .map(({ data, path }) => `${String(data).split(':')[0]} at ${path}`)
}
