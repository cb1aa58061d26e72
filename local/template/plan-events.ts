import { StartError } from '../start-error.ts'
import { isObject } from './assembly.ts'
import { transformed } from './input-transformer.ts'
import { objectsOf } from './property-values.ts'
import type { ResolvedResource, Resources } from './resources.ts'

/** Where an event of a rule goes. */
export type TargetPlan = (FunctionTarget | QueueTarget) & {
  /** Text of JSON that the target gets instead of the event. */
  readonly input?: string | undefined
  /** `$.detail`: the part of the event that the target gets. */
  readonly inputPath?: string | undefined
  readonly inputTransformer?: InputTransformer | undefined
}

export type InputTransformer = {
  /** By the name of a variable, where its value is: `$.detail.queue`. */
  readonly paths: Readonly<Record<string, string>>
  /** Text, mostly JSON, with variables in it: `{"item":<detail>}`. */
  readonly template: string
}

type FunctionTarget = { readonly functionArn: string }
export type QueueTarget = {
  readonly queueUrl: string
  readonly messageGroupId?: string | undefined
}

export type SchedulePlan = {
  readonly id: string
  readonly arn: string
  /** `rate(1 minute)` */
  readonly expression: string
  readonly targets: readonly TargetPlan[]
}

export type EventRulePlan = {
  readonly id: string
  readonly busName: string
  readonly pattern: Readonly<Record<string, unknown>>
  readonly targets: readonly TargetPlan[]
}

export function planRules(resources: Resources, leftOut: string[]) {
  const schedules: SchedulePlan[] = []
  const eventRules: EventRulePlan[] = []
  for (const rule of resources.ofType('AWS::Events::Rule')) {
    if (rule.property('State') === 'DISABLED') continue
    const id = rule.logicalId
    const targets = planTargets(rule, resources, leftOut)
    const expression = rule.property('ScheduleExpression')
    const pattern = rule.property('EventPattern')
    if (typeof expression === 'string') schedules.push({ id, arn: rule.arn, expression, targets })
    if (isObject(pattern)) {
      eventRules.push({ id, busName: busNameOf(rule, resources), pattern, targets })
    }
  }
  return { schedules, eventRules }
}

function planTargets(
  rule: ResolvedResource,
  resources: Resources,
  leftOut: string[],
): TargetPlan[] {
  return objectsOf(rule, 'Targets').flatMap((target) => {
    const destination = destinationOf(rule, target, resources)
    if (!destination) {
      leftOut.push(
        `The rule ${rule.logicalId} has a target that is neither a function nor a queue of the template: it gets no events.`,
      )
      return []
    }
    const { Input, InputPath, InputTransformer } = target
    const inputTransformer = isObject(InputTransformer)
      ? transformerOf(InputTransformer)
      : undefined
    if (Input !== undefined) refuseOther(rule, String(Input), String(Input))
    if (inputTransformer) {
      refuseOther(rule, inputTransformer.template, transformed(inputTransformer, {}))
    }
    return [
      {
        ...destination,
        ...(Input !== undefined && { input: String(Input) }),
        ...(InputPath !== undefined && { inputPath: String(InputPath) }),
        ...(inputTransformer && { inputTransformer }),
      },
    ]
  })
}

/** EventBridge refuses it when it is deployed. */
function refuseOther({ logicalId }: ResolvedResource, given: string, made: string): void {
  try {
    JSON.parse(made)
  } catch {
    throw new StartError(
      `Cannot run the rule ${logicalId} because the input of its target is not JSON: ${given}`,
    )
  }
}

function transformerOf({
  InputPathsMap,
  InputTemplate,
}: Readonly<Record<string, unknown>>): InputTransformer {
  const paths = isObject(InputPathsMap) ? (InputPathsMap as Record<string, string>) : {}
  return { paths, template: String(InputTemplate) }
}

function destinationOf(
  { logicalId }: ResolvedResource,
  { Arn, SqsParameters }: Readonly<Record<string, unknown>>,
  resources: Resources,
): FunctionTarget | QueueTarget | undefined {
  const served = resources.find('AWS::Lambda::Function', Arn)
  if (served) return { functionArn: served.arn }
  const queue = resources.find('AWS::SQS::Queue', Arn)
  if (!queue) return undefined
  const group = isObject(SqsParameters) ? SqsParameters.MessageGroupId : undefined
  if (String(queue.property('FifoQueue')) === 'true' && group === undefined) {
    throw new StartError(
      `Cannot run the rule ${logicalId} because its target is a FIFO queue and has no MessageGroupId`,
    )
  }
  return { queueUrl: queue.ref, ...(group !== undefined && { messageGroupId: String(group) }) }
}

/** A rule names its bus, or gives its ARN; most give neither and mean the default one. */
function busNameOf(rule: ResolvedResource, resources: Resources): string {
  const given = rule.property('EventBusName')
  if (given === undefined) return 'default'
  return resources.find('AWS::Events::EventBus', given)?.ref ?? String(given)
}
