import { AwsSolutionsChecks, ServerlessChecks } from 'cdk-nag'
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
