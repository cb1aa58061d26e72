import { Rule, Schedule } from 'aws-cdk-lib/aws-events'
import { ServicePrincipal } from 'aws-cdk-lib/aws-iam'
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda'
import { Duration } from 'aws-cdk-lib/core'
import { Construct } from 'constructs'
import { acknowledge } from './acknowledge.ts'

/**
 * Runs the sweeper once a minute, the finest a rule can. A run that fails is not repeated, and a late
 * one is dropped: the next does all that it would have done, from the index, a minute later.
 */
export class SweepSchedule extends Construct {
  readonly rule: Rule

  constructor(scope: Construct, id: string, { sweeper }: { readonly sweeper: LambdaFunction }) {
    super(scope, id)
    this.rule = new Rule(this, 'Default', {
      description: 'PushPop: ends expired locks',
      schedule: Schedule.rate(Duration.minutes(1)),
      targets: [
        {
          bind: () => ({
            arn: sweeper.functionArn,
            retryPolicy: { maximumRetryAttempts: 0, maximumEventAgeInSeconds: 60 },
          }),
        },
      ],
    })
    sweeper.addPermission('InvokedBySchedule', {
      principal: new ServicePrincipal('events.amazonaws.com'),
      sourceArn: this.rule.ruleArn,
    })
    sweeper.configureAsyncInvoke({ retryAttempts: 0, maxEventAge: Duration.minutes(1) })
    const reason =
      'A run that fails leaves nothing over that a queue of failures could hold: the next minute does ' +
      'its work, and an alarm says so if no run succeeds.'
    acknowledge(this.rule, { 'Serverless-EventBusDLQ': reason })
    acknowledge(sweeper, {
      'Serverless-LambdaDLQ': reason,
      'Serverless-LambdaAsyncFailureDestination': reason,
    })
  }
}
