package aws

import (
	"context"
	"errors"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/plimsoll-dev/plimsoll/provider"
)

// Codes of AWS, by what they mean to the contract. Those of throttling are the
// SDK's own list. Sources: the pages "Common errors" of the Auto Scaling, EC2
// and EKS API references, and "Error codes for the Amazon EC2 API".
var kindOfCode = map[string]provider.Kind{
	"AccessDenied": provider.Denied, "AccessDeniedException": provider.Denied, "UnauthorizedOperation": provider.Denied,
	"NotAuthorized": provider.Denied, "OptInRequired": provider.Denied, "Forbidden": provider.Denied,
	"ForbiddenException": provider.Denied,

	"ExpiredToken": provider.Credentials, "ExpiredTokenException": provider.Credentials,
	"RequestExpired":       provider.Credentials,
	"InvalidClientTokenId": provider.Credentials, "UnrecognizedClientException": provider.Credentials,
	"InvalidAccessKeyId":    provider.Credentials,
	"SignatureDoesNotMatch": provider.Credentials, "InvalidSignatureException": provider.Credentials,
	"IncompleteSignature":        provider.Credentials,
	"MissingAuthenticationToken": provider.Credentials, "MissingAuthenticationTokenException": provider.Credentials,
	"AuthFailure": provider.Credentials, "InvalidIdentityToken": provider.Credentials, "NotSignedUp": provider.Credentials,

	"InsufficientInstanceCapacity": provider.NoCapacity, "InsufficientHostCapacity": provider.NoCapacity,
	"InsufficientReservedInstanceCapacity": provider.NoCapacity, "InsufficientCapacity": provider.NoCapacity,
	"InsufficientCapacityOnHost": provider.NoCapacity, "UnfulfillableCapacity": provider.NoCapacity,
	"SpotMaxPriceTooLow":          provider.NoCapacity,
	"ReservationCapacityExceeded": provider.NoCapacity, "InsufficientFreeAddressesInSubnet": provider.NoCapacity,

	"LimitExceeded": provider.Quota, "InstanceLimitExceeded": provider.Quota, "VcpuLimitExceeded": provider.Quota,
	"MaxSpotInstanceCountExceeded": provider.Quota, "MaxSpotFleetRequestCountExceeded": provider.Quota,
	"VolumeLimitExceeded":            provider.Quota,
	"ResourceLimitExceededException": provider.Quota, "Fleet.MaxSpotInstanceCountExceeded": provider.Quota,

	"ResourceNotFoundException": provider.NotFound, "InvalidLaunchTemplateId.NotFound": provider.NotFound,
	"InvalidLaunchTemplateName.NotFoundException": provider.NotFound,
	"InvalidLaunchTemplateId.VersionNotFound":     provider.NotFound,
	"InvalidInstanceID.NotFound":                  provider.NotFound, "InvalidAMIID.NotFound": provider.NotFound,

	"QueueDoesNotExist": provider.NotFound, "AWS.SimpleQueueService.NonExistentQueue": provider.NotFound,

	"InternalFailure": provider.Unavailable, "InternalError": provider.Unavailable,
	"ServiceUnavailable":          provider.Unavailable,
	"ServiceUnavailableException": provider.Unavailable, "ServerException": provider.Unavailable,
	"Unavailable": provider.Unavailable,

	"ScalingActivityInProgress": provider.Transient, "ResourceContention": provider.Transient,
	"InvalidParameterException": provider.BadConfig, "InvalidParameterValue": provider.BadConfig,
	"InvalidParameterCombination": provider.BadConfig,
	"InvalidRequestException":     provider.BadConfig, "ValidationException": provider.BadConfig,
	// ValidationError is many things: see kindOfValidation.
}

var hints = map[provider.Kind]string{
	provider.Denied:      "the IAM policy lacks this action (docs/aws.md has the whole policy)",
	provider.Credentials: "see docs/aws.md for the ways to give credentials",
	provider.Throttled:   "a longer --scan-interval asks less often",
}

// asError puts an error of AWS into the contract's words.
func asError(op provider.Op, id provider.GroupID, what string, err error) *provider.Error {
	e := &provider.Error{
		Op: op, Group: id, Kind: kindOf(err), Code: codeOf(err), Message: what + ": " + err.Error() + hint(err), Err: err,
	}
	e.RetryAfter = retryAfter(err)
	return e
}

// steady is an error for a notice: without what differs from request to request,
// so that the same trouble is one notice.
func steady(what string, err error) string {
	text := err.Error()
	if api, dial := smithy.APIError(nil), (*net.OpError)(nil); errors.As(err, &api) {
		message, _, _ := strings.Cut(api.ErrorMessage(), encodedFailure) // what follows differs each time
		text = api.ErrorCode() + ": " + strings.TrimSpace(message)
	} else if errors.As(err, &dial) {
		text = dial.Op + ": " + dial.Err.Error() // an address has a port that differs
	} else if isTimeout(err) {
		text = "no answer in time"
	}
	return what + ": " + text + hint(err)
}

// encodedFailure is how EC2 begins what only sts:DecodeAuthorizationMessage can
// read.
const encodedFailure = "Encoded authorization failure message:"

// hint says what a person can do about an error, if anything.
func hint(err error) string {
	h := hints[kindOf(err)]
	if h == "" {
		return ""
	}
	if operation := (*smithy.OperationError)(nil); kindOf(err) == provider.Throttled && errors.As(err, &operation) &&
		operation.Service() == eks.ServiceID {
		h = "a longer --aws-nodegroup-cache-ttl asks less often"
	}
	return "; " + h
}

func codeOf(err error) string {
	if api := smithy.APIError(nil); errors.As(err, &api) {
		return api.ErrorCode()
	}
	return ""
}

func kindOf(err error) provider.Kind {
	code := codeOf(err)
	switch {
	case isTimeout(err):
		return provider.Unavailable
	case noCredentials(err):
		return provider.Credentials
	case throttled(code), statusOf(err) == http.StatusTooManyRequests:
		return provider.Throttled
	case code == "ValidationError":
		return kindOfValidation(err)
	}
	if kind, ok := kindOfCode[code]; ok {
		return kind
	}
	switch status := statusOf(err); {
	case status == 0, status >= http.StatusInternalServerError, status < http.StatusBadRequest:
		return provider.Unavailable // no answer, or none that can be read
	}
	return provider.Transient
}

func throttled(code string) bool {
	_, ok := retry.DefaultThrottleErrorCodes[code]
	return ok
}

// kindOfValidation reads the sentences with which Auto Scaling refuses a
// request under one and the same code.
func kindOfValidation(err error) provider.Kind {
	text := strings.ToLower(err.Error())
	has := func(parts ...string) bool {
		return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(text, p) })
	}
	switch {
	case has("min size constraint", "equals minsize", "above max value", "below min value"):
		return provider.Limit
	case has("name not found", "instance id not found", "no managed instance", "not found"):
		return provider.NotFound
	}
	return provider.BadConfig
}

// noCredentials reports whether the request was never sent, for want of
// credentials: the SDK could not get any, or the service that gives them out
// said no.
func noCredentials(err error) bool {
	for rest := err; rest != nil; {
		operation := (*smithy.OperationError)(nil)
		if !errors.As(rest, &operation) {
			break
		}
		switch operation.Service() {
		case "STS", "SSO", "SSO OIDC", "Signin":
			return true
		}
		rest = operation.Unwrap()
	}
	text := err.Error()
	return strings.Contains(text, "get identity:") || strings.Contains(text, "failed to refresh cached credentials")
}

func statusOf(err error) int {
	if response := (*smithyhttp.ResponseError)(nil); errors.As(err, &response) && response.Response != nil {
		return response.HTTPStatusCode()
	}
	return 0
}

// refused reports whether AWS said no, or was never asked, so that the write did
// certainly not happen. Anything else (no answer, one of the 5xx kind, one that
// cannot be read) leaves that open; err to "it happened".
func refused(err error) bool {
	if throttled(codeOf(err)) {
		return true // which EC2 says with a 503
	}
	status := statusOf(err)
	if status >= http.StatusBadRequest && status < http.StatusInternalServerError && status != http.StatusRequestTimeout {
		return true
	}
	dial := (*net.OpError)(nil)
	return noCredentials(err) || errors.As(err, &dial) && dial.Op == "dial"
}

// pointless reports whether every further write of the same kind would meet the
// same refusal.
func pointless(err error) bool {
	switch kindOf(err) {
	case provider.Denied, provider.Credentials, provider.Throttled:
		return refused(err)
	}
	return false
}

func retryAfter(err error) time.Duration {
	response := (*smithyhttp.ResponseError)(nil)
	if !errors.As(err, &response) || response.Response == nil {
		return 0
	}
	seconds, parseErr := strconv.Atoi(response.Response.Header.Get("Retry-After"))
	if parseErr != nil || seconds < 0 {
		return 0
	}
	return time.Duration(seconds) * time.Second
}

func isTimeout(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}
