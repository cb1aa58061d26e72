import { Validations } from 'aws-cdk-lib/core'
import { describe, expect, it } from 'vitest'
import { objections, objectionsOfNag2, packs } from './objections.ts'
import { type Synthesised, synthesised } from './synthesised.ts'

type Acknowledged = Readonly<Record<string, string>>

/** Rule and reason, wherever in the stack. */
function acknowledgements({ stack }: Synthesised): [rule: string, reason: string][] {
  return stack.node
    .findAll()
    .flatMap((construct) =>
      construct.node.metadata
        .filter(({ type }) => type === Validations.ACKNOWLEDGED_RULES_METADATA_KEY)
        .flatMap(({ data }) =>
          Object.entries(data as Acknowledged).map(
            ([id, reason]) => [id.replace('Annotation::', ''), reason] as [string, string],
          ),
        ),
    )
}

const tokens = { auth: 'jwt', issuer: 'https://login.example/', audience: 'queues' }
const settings: [string, Readonly<Record<string, string>>][] = [
  ['as it comes', {}],
  ['with tokens', tokens],
  ['for throwing away, open to a page', { throwaway: 'true', corsOrigins: 'https://a.example' }],
]

describe.each(packs)('The rules of %s', (pack) => {
  it.each(settings)('find nothing in the stack %s.', (_, context) => {
    expect(objections(synthesised(context), pack)).toEqual([])
  })
})

describe('The rules of cdk-nag 2', () => {
  it.each(settings)('find nothing in the stack %s.', (_, context) => {
    expect(objectionsOfNag2(synthesised(context))).toEqual([])
  })

  it('object to auth=none.', () => {
    const found = objectionsOfNag2(synthesised({ auth: 'none' }))
    expect(found).toContain('AwsSolutions-APIG4 at PushPop/Default/Api/PushRoute')
  })
})

describe('A rule', () => {
  it('objects to auth=none, which nobody acknowledges in your place.', () => {
    const found = objections(synthesised({ auth: 'none' }), 'AwsSolutions')
    expect(found).toContain('AwsSolutions-APIG4 at PushPop/Default/Api/PushRoute')
    expect(found.every((objection) => objection.startsWith('AwsSolutions-APIG4 at'))).toBe(true)
  })

  it('that is broken on purpose is one of these, each with its reason.', () => {
    const found = acknowledgements(synthesised())
    expect([...new Set(found.map(([rule]) => rule))].sort()).toEqual([
      'AwsSolutions-APIG4',
      'AwsSolutions-IAM5[Resource::*]',
      'AwsSolutions-IAM5[Resource::<StorageSegments.Arn>/*]',
      'AwsSolutions-S1',
      'AwsSolutions-SQS3',
      'Serverless-EventBusDLQ',
      'Serverless-LambdaAsyncFailureDestination',
      'Serverless-LambdaDLQ',
      'Serverless-LambdaEventSourceMappingDestination',
      'Serverless-SQSRedrivePolicy',
    ])
    for (const [, reason] of found) expect(reason).toMatch(/^[A-Z].{30,}\.$/)
  })
})
