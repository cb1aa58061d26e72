import { Rule, RuleTargetInput, Schedule } from 'aws-cdk-lib/aws-events'
import { ServicePrincipal } from 'aws-cdk-lib/aws-iam'
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda'
import { Duration } from 'aws-cdk-lib/core'
import { Construct } from 'constructs'
import { SHARDS } from '../../engine/core/limits.ts'
import { acceptFindings } from './accept-findings.ts'

/** The counts that share the index's shards evenly. */
export const sweeperCounts = [1, 2, 4, 8, 16] as const
export type Sweepers = (typeof sweeperCounts)[number]

type SweepScheduleProps = {
  readonly sweeper: LambdaFunction
  readonly sweepers: Sweepers
}

/**
 * Runs the sweeper once a minute, as often as a rule can; if one run is not enough, several at a time, each
 * with its part of the shards. A run that fails is not repeated and a late one is dropped: the next run
 * finds all of its work in the index, a minute later.
 */
export class SweepSchedule extends Construct {
  constructor(scope: Construct, id: string, { sweeper, sweepers }: SweepScheduleProps) {
    super(scope, id)
    const reason =
      'A run that fails leaves nothing over that a queue of failures could hold: the next minute does ' +
      'its work, and an alarm says so if no run succeeds.'
    for (let part = 0; part < sweepers; part += 1) {
      const rule = new Rule(this, part === 0 ? 'Default' : `Part${part + 1}`, {
        description: 'PushPop: ends expired locks',
        schedule: Schedule.rate(Duration.minutes(1)),
        targets: [
          {
            bind: () => ({
              arn: sweeper.functionArn,
              retryPolicy: { maximumRetryAttempts: 0, maximumEventAgeInSeconds: 60 },
              ...(sweepers > 1 && {
                input: RuleTargetInput.fromObject({ shards: shardsOf(part, sweepers) }),
              }),
            }),
          },
        ],
      })
      sweeper.addPermission(part === 0 ? 'InvokedBySchedule' : `InvokedBySchedule${part + 1}`, {
        principal: new ServicePrincipal('events.amazonaws.com'),
        sourceArn: rule.ruleArn,
      })
      acceptFindings(rule, { 'Serverless-EventBusDLQ': reason })
    }
    sweeper.configureAsyncInvoke({ retryAttempts: 0, maxEventAge: Duration.minutes(1) })
    acceptFindings(sweeper, {
      'Serverless-LambdaDLQ': reason,
      'Serverless-LambdaAsyncFailureDestination': reason,
    })
  }
}

/** 0, 4, 8, 12 for the first of four. */
const shardsOf = (part: number, parts: Sweepers): number[] =>
  Array.from({ length: SHARDS / parts }, (_, index) => part + index * parts)
