package awstest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// This file is DescribeLaunchTemplateVersions and DescribeImages:
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeLaunchTemplateVersions.html
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeImages.html

type describeVersionsResult struct {
	Versions  []xmlVersion `xml:"launchTemplateVersionSet>item"`
	NextToken string       `xml:"nextToken,omitempty"`
}

type xmlVersion struct {
	LaunchTemplateID   string          `xml:"launchTemplateId"`
	LaunchTemplateName string          `xml:"launchTemplateName"`
	VersionNumber      int             `xml:"versionNumber"`
	DefaultVersion     bool            `xml:"defaultVersion"`
	CreateTime         string          `xml:"createTime"`
	CreatedBy          string          `xml:"createdBy"`
	Data               xmlTemplateData `xml:"launchTemplateData"`
}

type xmlTemplateData struct {
	InstanceType string           `xml:"instanceType,omitempty"`
	ImageID      string           `xml:"imageId,omitempty"`
	MarketType   string           `xml:"instanceMarketOptions>marketType,omitempty"`
	Requirements *ec2Requirements `xml:"instanceRequirements,omitempty"`
	Volumes      []xmlVolume      `xml:"blockDeviceMappingSet>item"`
}

type xmlVolume struct {
	DeviceName string `xml:"deviceName"`
	VolumeSize int    `xml:"ebs>volumeSize"`
}

func (c *Cloud) describeVersions(q *query) (any, *refusal) {
	if refused := q.only(
		"LaunchTemplateId", "LaunchTemplateName", "LaunchTemplateVersion", "MaxResults", "NextToken",
	); refused != nil {
		return nil, refused
	}
	size, refused := q.ec2Size(1, 200)
	if refused != nil {
		return nil, refused
	}
	ref := TemplateRef{ID: q.params.Get("LaunchTemplateId"), Name: q.params.Get("LaunchTemplateName")}
	wanted := q.list("LaunchTemplateVersion")
	if ref.ID != "" && ref.Name != "" {
		return nil, &refusal{
			400, "InvalidParameterCombination", "awstest: a launch template is named by its ID or by its name, not by both",
		}
	}
	found, refused := c.versions(ref, wanted)
	if refused != nil {
		return nil, refused
	}
	found, next, ok := page(q, found,
		func(v xmlVersion) string { return fmt.Sprintf("%s/%09d", v.LaunchTemplateID, v.VersionNumber) }, size)
	if !ok {
		return nil, badPaginationToken()
	}
	return describeVersionsResult{found, next}, nil
}

func (c *Cloud) versions(ref TemplateRef, wanted []string) ([]xmlVersion, *refusal) {
	refs := []TemplateRef{ref}
	if ref == (TemplateRef{}) {
		symbolic := !slices.ContainsFunc(wanted, func(v string) bool { return v != "$Latest" && v != "$Default" })
		if len(wanted) == 0 || !symbolic {
			return nil, noTemplateNamed()
		}
		refs = nil
		for _, t := range c.spec.LaunchTemplates {
			refs = append(refs, TemplateRef{ID: t.ID})
		}
	}
	byKey := map[string]xmlVersion{}
	for _, ref := range refs {
		want := wanted
		if len(want) == 0 {
			template, _, refused := c.version(TemplateRef{ID: ref.ID, Name: ref.Name, Version: "$Latest"})
			if refused != nil {
				return nil, refused
			}
			for _, v := range template.Versions {
				want = append(want, fmt.Sprint(v.Number))
			}
		}
		for _, version := range want {
			t, v, refused := c.version(TemplateRef{ID: ref.ID, Name: ref.Name, Version: version})
			if refused != nil {
				return nil, refused
			}
			byKey[fmt.Sprintf("%s/%09d", t.ID, v.Number)] = c.xmlVersion(t, v)
		}
	}
	var found []xmlVersion
	for _, key := range sortedKeys(byKey) {
		found = append(found, byKey[key])
	}
	return found, nil
}

func (c *Cloud) xmlVersion(t LaunchTemplate, v TemplateVersion) xmlVersion {
	x := xmlVersion{
		LaunchTemplateID: t.ID, LaunchTemplateName: t.Name, VersionNumber: v.Number, DefaultVersion: v.Number == t.Default,
		CreateTime: millis(c.born), CreatedBy: "arn:aws:iam::" + c.spec.Account + ":root",
		Data: xmlTemplateData{InstanceType: v.InstanceType, ImageID: v.ImageID, Requirements: v.Requirements.ec2()},
	}
	if v.Spot {
		x.Data.MarketType = "spot"
	}
	if v.VolumeGiB > 0 {
		x.Data.Volumes = []xmlVolume{{"/dev/xvda", v.VolumeGiB}}
	}
	return x
}

type describeImagesResult struct {
	Images    []xmlImage `xml:"imagesSet>item"`
	NextToken string     `xml:"nextToken,omitempty"`
}

type xmlImage struct {
	ImageID            string `xml:"imageId"`
	Name               string `xml:"name"`
	Architecture       string `xml:"architecture"`
	VirtualizationType string `xml:"virtualizationType"`
	ImageType          string `xml:"imageType"`
	ImageState         string `xml:"imageState"`
	ImageOwnerID       string `xml:"imageOwnerId"`
	PlatformDetails    string `xml:"platformDetails"`
	RootDeviceType     string `xml:"rootDeviceType"`
}

func (c *Cloud) describeImages(q *query) (any, *refusal) {
	if refused := q.only("ImageId", "MaxResults", "NextToken"); refused != nil {
		return nil, refused
	}
	size, refused := q.ec2Size(1, 1000)
	if refused != nil {
		return nil, refused
	}
	ids := q.list("ImageId")
	var found []xmlImage
	absent := slices.Clone(ids)
	for _, i := range c.spec.Images {
		if len(ids) > 0 && !slices.Contains(ids, i.ID) {
			continue
		}
		absent = slices.DeleteFunc(absent, func(id string) bool { return id == i.ID })
		found = append(found, xmlImage{
			ImageID: i.ID, Name: cmp.Or(i.Name, i.ID), Architecture: cmp.Or(i.Architecture, "x86_64"),
			VirtualizationType: cmp.Or(i.Virtualization, "hvm"), ImageType: "machine", ImageState: "available",
			ImageOwnerID: q.account, PlatformDetails: "Linux/UNIX", RootDeviceType: "ebs",
		})
	}
	for _, id := range absent {
		if !strings.HasPrefix(id, "ami-") {
			return nil, &refusal{400, "InvalidAMIID.Malformed", fmt.Sprintf("Invalid id: %q", id)}
		}
	}
	if len(absent) > 0 {
		return nil, noSuchImages(absent)
	}
	slices.SortFunc(found, func(a, b xmlImage) int { return cmp.Compare(a.ImageID, b.ImageID) })
	found, next, ok := page(q, found, func(i xmlImage) string { return i.ImageID }, size)
	if !ok {
		return nil, badPaginationToken()
	}
	return describeImagesResult{found, next}, nil
}

// ec2Size reads EC2's MaxResults. Without it the page is the largest one.
func (q *query) ec2Size(least, most int) (int, *refusal) {
	n, refused := q.size("MaxResults", most, most)
	if refused != nil || n < least {
		return 0, badValue("Value ( %s ) for parameter maxResults is invalid. Expecting a value between %d and %d.",
			q.params.Get("MaxResults"), least, most)
	}
	return n, nil
}
