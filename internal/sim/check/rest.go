package check

// restRules are tested once all faults have ended, and nothing has changed for a while.
var restRules []rule
